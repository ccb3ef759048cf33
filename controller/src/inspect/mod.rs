//! `wmtrace inspect`: the atomics and fences of a program, their orders, and where these came from.

mod files;
mod human;
mod json;
mod machine;
mod names;
mod scan;

use crate::cli::{Format, InspectOptions};
use crate::exit::Exit;
use crate::text::Printable;
use files::ProgramFiles;
use scan::Report;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::file::OrdersFile;
use wmtrace_decoder::orders::{Options, Orders};

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
    let report = match inspect(options) {
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
            serde_json::to_writer(&mut out, &json::report(&report))?;
            writeln!(out)?;
        }
    }
    out.flush()
}

/// The report, or what is wrong with the input.
fn inspect(options: &InspectOptions) -> Result<Report, String> {
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
    let bytes: Arc<[u8]> = Arc::from(read(program, files::MAX_BINARY)?);
    let image = Image::parse(Arc::clone(&bytes)).map_err(|error| at(program, &error))?;
    linked(&bytes).map_err(|error| at(program, &error))?;
    let debug = Debug::new(&image, Arc::new(ProgramFiles::new(program)));
    let module = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let orders = Orders::new(&image, &debug, Options { assume: options.assume, file: rules, module });
    Ok(scan::scan(options, &image, &debug, &orders))
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
