//! The axioms of C11 (RC20's, with C++20's release sequences):
//!
//! - coherence: `mo;rf?;hb?` and `fr;rf?;hb` irreflexive;
//! - atomicity, which [`Communication`] has checked;
//! - `po ∪ rf` acyclic, which holds for every execution that [`Communication`] accepts;
//! - the SC axiom, in [`super::sc`].

use super::hb::{HappensBefore, Sequences};
use super::mo::Communication;
use super::sc;
use super::threads::Threads;
use super::violation::{Coherence, Violation};
use crate::execution::{EventId, Execution};
use alloc::vec;
use alloc::vec::Vec;

/// Certifies an execution of the C11 model.
pub(super) fn certify(execution: &Execution) -> Result<(), Violation> {
    let communication = Communication::of(execution)?;
    let threads = Threads::of(execution)?;
    let hb = HappensBefore::of(execution, &communication, &threads, Sequences::Short);
    coherence(&communication, &threads, &hb)?;
    sc::certify(execution, &communication, &hb)
}

/// One thread's events on one location. Each was compared with the one before, so the last one up to a time
/// has the furthest place in modification order up to that time.
struct Track {
    thread: u32,
    records: Vec<Record>,
}

struct Record {
    time: u32,
    piece: u32,
}

/// With a location's events placed in modification order (a write at its own position, a read at that of its
/// source), the two irreflexivity axioms together say that along hb these places never go back, and that a
/// write's is new. So each event is compared with the furthest of those that happen before it: found thread by
/// thread, with the event's clock, by binary search.
fn coherence(
    communication: &Communication<'_>,
    threads: &Threads,
    hb: &HappensBefore<'_>,
) -> Result<(), Violation> {
    let mut tracks: Vec<Vec<Track>> = Vec::new();
    tracks.resize_with(communication.location_count(), Vec::new);
    hb.clocks(|event, clock| {
        let (thread, time) = (threads.of[event as usize], threads.time[event as usize]);
        for piece in communication.pieces(event) {
            let tracks = &mut tracks[communication.location(piece) as usize];
            for track in tracks.iter() {
                let known =
                    track.records.partition_point(|record| record.time <= clock[track.thread as usize]);
                if let Some(furthest) = track.records[..known].last() {
                    in_order(communication, furthest.piece, piece)?;
                }
            }
            let record = Record { time, piece };
            match tracks.iter_mut().find(|track| track.thread == thread) {
                None => tracks.push(Track { thread, records: vec![record] }),
                Some(track) => track.records.push(record),
            }
        }
        Ok(())
    })
}

/// Whether modification order allows one piece to come before another of the same location.
pub(super) fn in_order(communication: &Communication<'_>, earlier: u32, later: u32) -> Result<(), Violation> {
    let (before, after) = (communication.position(earlier), communication.position(later));
    let writes = communication.writes(later);
    if before < after || (before == after && !writes) {
        return Ok(());
    }
    Err(Violation::Coherence {
        shape: Coherence::of(communication.writes(earlier), writes),
        earlier: EventId(communication.event(earlier)),
        later: EventId(communication.event(later)),
    })
}
