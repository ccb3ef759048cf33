//! `wmtrace PROGRAM`: options to campaign to report.

use super::setup::Setup;
use super::{Order, confirm, run, unmatched};
use crate::cli::TestOptions;
use crate::exit::Exit;
use crate::launch::Launch;
use crate::os::interrupt;
use crate::report::progress::Progress;
use crate::report::{self, CampaignReport};
use crate::suppress;
use crate::text::Printable;
use std::io::{self, Write};
use std::time::{Duration, Instant};

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
        Ok(setup) => test(launch, &setup, &order, options.confirm, !options.shown.quiet),
        Err(error) => CampaignReport::refused(options, &order, &error),
    };
    *exit = report.exit();
    if let Some(path) = &options.write_suppressions
        && *exit != Exit::Usage
        && let Err(error) = suppress::append(path, &report.bugs)
    {
        writeln!(err, "wmtrace: suppressions could not be written to {}: {error}", path.display())?;
        *exit = Exit::Tool;
    }
    report::write(&report, options.shown, out, err)
}

/// Runs the campaign and reports it.
pub(crate) fn test<L: Launch>(
    launch: &L,
    setup: &Setup,
    order: &Order,
    confirm: Duration,
    bar: bool,
) -> CampaignReport {
    let mut report = CampaignReport::new(setup, order, launch.name(&setup.target));
    if let Err(error) = interrupt::install() {
        report.warnings.push(format!("Ctrl-C will not end this campaign in an orderly way: {error}"));
    }
    let began = Instant::now();
    let mut progress = Progress::new(bar, order.runs, order.time);
    let mut campaign = run(launch, setup, order, &mut progress);
    let wrapped = campaign.wrapped.clone();
    let other = wrapped.as_ref().filter(|it| it.wants_another_model(setup)).map(|it| it.setup(setup));
    let asked = setup;
    let setup = other.as_ref().unwrap_or(setup);
    if other.is_some() {
        let warnings = std::mem::take(&mut report.warnings);
        report = CampaignReport { warnings, ..CampaignReport::new(setup, order, launch.name(&setup.target)) };
        progress = Progress::new(bar, order.runs, order.time);
        campaign = run(launch, setup, order, &mut progress);
    }
    drop(progress);
    report.warnings.extend(wrapped.map(|wrapped| wrapped.warning(asked)));
    let unused = setup.suppressions.entries.iter().enumerate();
    for (_, entry) in unused.filter(|(number, _)| !campaign.suppressions_used.contains(number)) {
        report.warnings.push(format!("the suppression at {} has matched no bug", entry.origin));
    }
    report.warnings.extend(unmatched::warnings(setup, &campaign.ledger));
    report.add(campaign, began.elapsed());
    report.warnings.extend(confirm::confirm(launch, setup, &mut report.bugs, confirm));
    report
}
