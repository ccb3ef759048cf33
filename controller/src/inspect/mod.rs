//! `wmtrace inspect`: the atomics and fences of a program, their orders, and where these came from.

pub(crate) mod files;
mod human;
mod json;
pub(crate) mod names;
mod scan;
mod stretches;

use crate::cli::{Format, InspectOptions};
use crate::exit::Exit;
use crate::text::{Printable, printable_json};
use files::ProgramFiles;
use scan::Report;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use wmtrace_decoder::debug::{Debug, demangle};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::Options;
use wmtrace_decoder::orders::file::OrdersFile;

/// Runs the command. The report goes to `out`; what is wrong with the input goes to `err`, in one line.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(crate) fn main(
    options: &InspectOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    exit: &mut Exit,
) -> io::Result<()> {
    let report = match inspect(options, ProgramFiles::new(&options.program)) {
        Ok(report) => report,
        Err(message) => {
            *exit = Exit::Usage;
            return writeln!(err, "wmtrace: {}", Printable(&message));
        }
    };
    let mut out = BufWriter::new(out);
    match options.format {
        Format::Human => {
            human::write(&report, &mut out)?;
            out.flush()?;
            for warning in &report.warnings {
                writeln!(err, "wmtrace: warning: {}", Printable(warning))?;
            }
        }
        Format::Json => {
            writeln!(out, "{}", printable_json(&serde_json::to_string(&json::report(&report))?))?;
        }
    }
    out.flush()
}

/// The report, or what is wrong with the input.
fn inspect(options: &InspectOptions, opened: ProgramFiles) -> Result<Report, String> {
    let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let read = |path: &Path, max| files::read(path, max).map_err(|error| at(path, &error));

    let program = &options.program;
    let rules = match &options.orders {
        None => None,
        Some(path) => {
            let text = String::from_utf8(read(path, files::MAX_TEXT)?).map_err(|error| at(path, &error))?;
            let parsed = OrdersFile::parse(&text);
            Some(Arc::new(parsed.map_err(|error| format!("{}:{error}", path.display()))?))
        }
    };
    let bytes = files::read_shared(program, files::MAX_BINARY).map_err(|error| at(program, &error))?;
    let image = Image::parse(Arc::clone(&bytes)).map_err(|error| at(program, &error))?;
    linked(&bytes).map_err(|error| at(program, &error))?;
    let mut debug = Debug::new(&image, Arc::new(opened));
    if let Some(function) = &options.function {
        // Most of a large program has nothing to do with one function: only the units that may are read.
        let called = |name: &str| names::is_function(&demangle(name), function);
        let also: Vec<u64> =
            image.symbols().iter().filter(|symbol| called(&symbol.name)).map(|symbol| symbol.addr).collect();
        debug.only(names::identifier(function), &also);
    }
    let module = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rules = Options { assume: options.assume, file: rules, module };
    Ok(scan::scan(options, &image, debug, &rules))
}

/// Only programs and shared objects have addresses: the sections of an object file all begin at 0.
fn linked(elf: &[u8]) -> Result<(), &'static str> {
    match elf.get(16..18) {
        Some([2 | 3, 0]) => Ok(()),
        Some([1, 0]) => Err("unsupported ELF file: an object file (link it first)"),
        Some([4, 0]) => Err("unsupported ELF file: a core dump"),
        _ => Err("unsupported ELF file: neither a program nor a shared object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The debug files of a distribution, in a directory of the test's.
    #[test]
    fn separate_debug_files_by_build_id() {
        let directory = std::env::temp_dir().join(format!("wmtrace-build-id-{}", std::process::id()));
        let root = directory.join("debug");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(directory.join("orders.cpp"), include_str!("../../tests/inspect/orders.cpp")).unwrap();
        let run = |tool: &str, arguments: &str| {
            let status = Command::new(tool).args(arguments.split(' ')).current_dir(&directory).status();
            assert!(status.unwrap().success(), "{tool} {arguments}");
        };
        run("g++", "-std=c++17 -O2 -g -Wl,--build-id orders.cpp -o whole");
        run("objcopy", "--strip-all whole orders");
        let options = InspectOptions {
            program: directory.join("orders"),
            function: None,
            all: false,
            format: Format::Json,
            orders: None,
            assume: wmtrace_decoder::orders::Assume::default(),
        };
        let report = || inspect(&options, ProgramFiles::below(&options.program, &root)).unwrap();
        let without = report();
        assert!(!without.known);
        let id = without.build_id.unwrap();
        let place = root.join(".build-id").join(&id[..2]);
        std::fs::create_dir_all(&place).unwrap();
        run("objcopy", &format!("--only-keep-debug whole {}/{}.debug", place.display(), &id[2..]));
        let with = report();
        assert!(with.known && with.entries.len() > without.entries.len());
        assert!(with.entries.iter().any(|entry| entry.function.as_deref() == Some("load_acquire()")));
        // Another program's file does not count, whatever it is called.
        run("g++", "-std=c++17 -O1 -g -Wl,--build-id orders.cpp -o other");
        run("objcopy", &format!("--only-keep-debug other {}/{}.debug", place.display(), &id[2..]));
        assert!(!report().known);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
