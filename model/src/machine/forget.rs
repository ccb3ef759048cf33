//! Forgetting, so that memory is bounded: stores that nobody can read any more, and cells that say nothing
//! beyond what memory holds.

use super::Machine;
use crate::memory::space::CellId;
use crate::models::Model;
use crate::strategy::Strategy;

impl<S: Strategy> Machine<S> {
    /// Forgets stores of a cell that nobody can read any more, now and then.
    pub(super) fn forget_old(&mut self, cell: CellId) {
        let Machine { space, model, config, .. } = self;
        let it = &mut space.cells[cell as usize];
        if !it.is_long() {
            return;
        }
        let floor = model.common_floor(it);
        it.forget(floor, config.limits.history, |stored| {
            if let Model::C11(c11) = model {
                c11.forget(stored.msg);
            }
        });
    }

    /// Forgets cells, when there are as many as allowed. First those of which nobody can read anything but the
    /// newest store; if that is not enough, also those that have older ones, as if everybody had read the newest.
    /// A cell whose newest store would still tell somebody something stays: to forget that would lose
    /// happens-before, and so invent races.
    ///
    /// A later access finds memory as it is and begins a new cell, whose first store has no event; so this is
    /// only done where events are not kept.
    pub(super) fn sweep(&mut self) {
        let limit = self.config.limits.cells;
        if self.config.keep_events || self.space.live_cells() < self.sweep_at {
            return;
        }
        self.sweep_cells(true);
        if self.space.live_cells() > limit / 2 {
            self.sweep_cells(false);
        }
        // If little could be forgotten, do not try again soon.
        self.sweep_at = limit.max(2 * self.space.live_cells());
    }

    fn sweep_cells(&mut self, only_settled: bool) {
        let Machine { space, model, .. } = self;
        for cell in space.cell_ids() {
            let it = &space.cells[cell as usize];
            let settled = model.common_floor(it) == it.last_index();
            let silent = match &*model {
                Model::C11(c11) => c11.everybody_knows(it.last().msg),
                Model::Sc | Model::Tso(_) | Model::Buffered(_) => true,
            };
            if silent && (settled || !only_settled) {
                space.remove_cell(cell, |stored| {
                    if let Model::C11(c11) = model {
                        c11.forget(stored.msg);
                    }
                });
            }
        }
    }
}
