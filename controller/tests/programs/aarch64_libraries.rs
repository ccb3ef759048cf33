//! Where programs for AArch64 find an emulator and their libraries: musl as well as glibc, in a directory of the user's,
//! or inside the program.

use crate::aarch64::{is_clean, is_found};
use crate::build::{ARM64, CROSS, CROSS_MUSL, CROSS_MUSL_STATIC, CROSS_STATIC};
use crate::run::Directory;
use crate::source::{Source, Variant};

/// A program of one C library, with all that it needs in another directory than usual.
fn in_sysroot(name: &str) -> Source {
    let mut source = Source::named(name);
    source.options.push(format!("--sysroot {ARM64}"));
    source
}

#[test]
fn musl() {
    is_found(&in_sysroot("verdicts/assert.c"), CROSS_MUSL).unwrap();
    for program in ["verdicts/assert.c", "verdicts/deadlock_order.c"] {
        is_clean(&in_sysroot(program), CROSS_MUSL, 10, "random").unwrap();
    }
}

#[test]
fn musl_inside() {
    let source = Source::named("verdicts/assert.c");
    is_found(&source, CROSS_MUSL_STATIC).unwrap();
    is_clean(&source, CROSS_MUSL_STATIC, 10, "random").unwrap();
    is_clean(&Source::named("odd/cancel_read.c"), CROSS_MUSL_STATIC, 20, "random").unwrap();
}

/// Debian's two packages: the emulator with shared libraries, and the one without. Both runs have one directory, and so
/// one environment.
#[test]
fn either_emulator() {
    for flavour in [CROSS, CROSS_STATIC] {
        let built = Source::named("verdicts/assert.c").build(Variant::Buggy, flavour);
        let directory = Directory::new("emulator");
        let reports = ["qemu-aarch64", "qemu-aarch64-static"].map(|emulator| {
            let options = format!("-n 50 --keep-going --qemu /usr/bin/{emulator}");
            let report = directory.report(&options, &built).unwrap();
            assert!(report.number("buggy_executions") > 0, "{}", report.value());
            (report.number("buggy_executions"), report.value()["events_per_execution"].clone())
        });
        assert_eq!(reports[0], reports[1], "{flavour:?}: the same executions in both");
    }
}

/// The program is there, its libraries are not.
#[test]
fn libraries_elsewhere() {
    let directory = Directory::new("elsewhere");
    let built = Source::named("verdicts/assert.c").build(Variant::Right, CROSS_MUSL);
    let output = directory.test("-n 1", &built).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("its dynamic linker /lib/ld-musl-aarch64.so.1 is not here"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
