//! stub until the machine lands
use crate::cli::LitmusOptions;
use crate::litmus::Failure;
use crate::litmus::progress::Progress;
use crate::litmus::tally::Tally;
use wmtrace_model::litmus::program::Program;

pub(crate) fn explore(options: &LitmusOptions, program: &Program) -> Result<Tally, Failure> {
    let mut progress = Progress::new(options.progress, None);
    progress.tick();
    let tally = Tally::new(program, options.all_terms);
    Ok(tally)
}
