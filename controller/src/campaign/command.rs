//! `wmtrace PROGRAM`: options to campaign to report.

use super::setup::Setup;
use super::{Order, run};
use crate::cli::TestOptions;
use crate::exit::Exit;
use crate::launch::Launch;
use crate::os::interrupt;
use crate::report::progress::Progress;
use crate::report::{self, CampaignReport};
use crate::text::Printable;
use std::io::{self, Write};
use std::time::Instant;

/// Runs the command. The report goes to `out`; what is wrong with the input goes to `err`, in one line.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(crate) fn main<L: Launch>(
    launch: &L,
    options: &TestOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    exit: &mut Exit,
) -> io::Result<()> {
    for warning in &options.warnings {
        writeln!(err, "wmtrace: {}", Printable(warning))?;
    }
    let order = Order {
        strategy: options.strategy,
        mixed: options.mixed,
        depth: options.depth,
        events: options.events,
        history: options.history,
        seed: options.seed,
        runs: options.runs,
        time: options.time,
        jobs: options.jobs,
        keep_going: options.keep_going,
        verify: options.verify,
        out: options.out.clone(),
    };
    let report = match Setup::new(options) {
        Ok(setup) => test(launch, &setup, &order, !options.shown.quiet),
        Err(error) => CampaignReport::refused(options, &order, &error),
    };
    *exit = report.exit();
    report::write(&report, options.shown, out, err)
}

/// Runs the campaign and reports it.
pub(crate) fn test<L: Launch>(launch: &L, setup: &Setup, order: &Order, bar: bool) -> CampaignReport {
    let mut report = CampaignReport::new(setup, order, launch.name(&setup.target));
    if let Err(error) = interrupt::install() {
        report.warnings.push(format!("Ctrl-C will not end this campaign in an orderly way: {error}"));
    }
    let began = Instant::now();
    let mut progress = Progress::new(bar, order.runs, order.time);
    let campaign = run(launch, setup, order, &mut progress);
    drop(progress);
    report.add(campaign, began.elapsed());
    report
}
