//! Data among the code, as assemblers mark it.

use std::process::Command;
use std::sync::Arc;
use wmtrace_decoder::image::Image;

/// A constant between two functions; and a section of no code, whose marks have the numbers of addresses in it.
const TEXT: &str = r#"
    .text
    .globl _start
_start: ret
    .word 1
second: ret
    .section .debug_other, "", %progbits
    .skip 0x400000
"$d.0": .word 2
"$d.1": .word 3
"#;

#[test]
fn only_code_is_marked() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("marks");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("marks.s"), TEXT).unwrap();
    let mut compiler = Command::new("aarch64-linux-gnu-gcc");
    compiler.args(["-nostdlib", "-static", "-Wl,-Ttext=0x400000", "marks.s", "-o", "marks"]);
    let status = compiler.current_dir(&directory).status().expect("see scripts/setup tests");
    assert!(status.success());
    let image = Image::parse(Arc::from(std::fs::read(directory.join("marks")).unwrap())).unwrap();
    let marks: Vec<_> = image.marks().into_iter().collect();
    assert_eq!(marks, [(0x40_0000, false), (0x40_0004, true), (0x40_0008, false)]);
}
