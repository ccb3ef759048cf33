//! Values that several commands' options have.

use clap::ValueEnum;
use wmtrace_decoder::orders::Assume;
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::StrategyKind;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum AssumeArg {
    /// What the instruction gives: acqrel, but on AArch64 stores are relaxed
    Isa,
    /// Loads acquire, stores release
    Acqrel,
    /// Relaxed
    Relaxed,
    /// Sequentially consistent
    Sc,
}

impl From<AssumeArg> for Assume {
    fn from(assume: AssumeArg) -> Assume {
        match assume {
            AssumeArg::Isa => Assume::Isa,
            AssumeArg::Acqrel => Assume::AcqRel,
            AssumeArg::Relaxed => Assume::Relaxed,
            AssumeArg::Sc => Assume::SeqCst,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ModelArg {
    Auto,
    Sc,
    Tso,
    Pso,
    Pslo,
    C11,
}

impl ModelArg {
    /// The model; `None` for `auto`.
    pub(super) const fn kind(self) -> Option<ModelKind> {
        Some(match self {
            ModelArg::Auto => return None,
            ModelArg::Sc => ModelKind::Sc,
            ModelArg::Tso => ModelKind::Tso,
            ModelArg::Pso => ModelKind::Pso,
            ModelArg::Pslo => ModelKind::Pslo,
            ModelArg::C11 => ModelKind::C11,
        })
    }
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Human,
    /// One JSON object
    Json,
}

/// What was asked for although the strategy does not know it. Said, not refused: who compares strategies gives
/// them all the same options.
pub(super) fn without_effect(
    strategy: StrategyKind,
    depth: Option<u32>,
    events: Option<u32>,
    history: Option<u32>,
) -> Vec<String> {
    let (knows_depth, knows_history) = match strategy {
        StrategyKind::Pctwm | StrategyKind::PlaceWm => (true, true),
        StrategyKind::Pct => (true, false),
        StrategyKind::BasicPosWm | StrategyKind::PosWm => (false, true),
        StrategyKind::Random | StrategyKind::Skewed | StrategyKind::BasicPos | StrategyKind::Pos => {
            (false, false)
        }
    };
    let options = [
        ("--depth", depth.is_some() && !knows_depth),
        ("--events", events.is_some() && !knows_depth),
        ("--history", history.is_some() && !knows_history),
    ];
    let useless = options.into_iter().filter(|(_, useless)| *useless);
    useless.map(|(name, _)| format!("{name} has no effect with --strategy {strategy}")).collect()
}
