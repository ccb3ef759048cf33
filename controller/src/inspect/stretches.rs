//! Which bytes are instructions: what symbols and unwind information call functions. In between lie constants and
//! padding, and looking at those as if they were code finds instructions that nobody wrote.

use std::collections::BTreeMap;
use wmtrace_decoder::debug::Frames;
use wmtrace_decoder::image::Image;

/// Gaps between functions up to this size are padding, or the few functions of the C runtime without a name.
const SMALL_GAP: u64 = 256;

/// A stretch of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The function's linkage name, or one made of its address where it has none.
    pub(super) name: String,
}

/// The stretches of a program by address, and how many bytes of its code are in none of them.
pub(super) fn stretches(image: &Image) -> (Vec<Stretch>, u64) {
    let unwound: BTreeMap<u64, u64> = Frames::new(image).ranges().collect();
    let section = |addr: u64| {
        let inside = image.code().iter().find(|code| code.addr <= addr && addr < code.end());
        inside.map(|code| code.name.as_str()).filter(|name| !name.is_empty())
    };
    let mut found = Vec::new();
    for function in image.functions() {
        let name = function.name.unwrap_or_else(|| match section(function.start) {
            None | Some(".text") => format!("sub_{:x}", function.start),
            // `.plt`, `.init`: one piece of code each.
            Some(section) => section.to_owned(),
        });
        let end = clipped(&unwound, function.start, function.end);
        found.push(Stretch { start: function.start, end, name: name.clone() });
        let rest = if end < function.end { unwound.range(end..function.end) } else { unwound.range(0..0) };
        for (&start, &end) in rest {
            found.push(Stretch { start, end, name: name.clone() });
        }
    }
    if found.is_empty() {
        let whole = image.code().iter().map(|code| {
            let name = if code.name.is_empty() { "(no section)" } else { &code.name };
            Stretch { start: code.addr, end: code.end(), name: name.to_owned() }
        });
        return (whole.collect(), 0);
    }
    found.sort_by_key(|stretch| (stretch.start, stretch.end));
    let left_out = image.code().iter().map(|code| gaps(&found, code.addr, code.end())).sum();
    (found, left_out)
}

/// The end of a function: assembly counts the constants behind a function as a part of it, unwind information does
/// not.
fn clipped(unwound: &BTreeMap<u64, u64>, start: u64, end: u64) -> u64 {
    unwound.get(&start).map_or(end, |&unwound| unwound.min(end))
}

/// How many bytes of a range are in no stretch, small gaps not counted. The stretches are sorted by their start.
fn gaps(found: &[Stretch], start: u64, end: u64) -> u64 {
    let (mut at, mut sum) = (start, 0);
    let first = found.partition_point(|stretch| stretch.end <= start && stretch.start < start);
    let mut count = |from: u64, to: u64| {
        let gap = to.saturating_sub(from);
        sum += if gap > SMALL_GAP { gap } else { 0 };
    };
    for stretch in found[first..].iter().take_while(|stretch| stretch.start < end) {
        count(at, stretch.start);
        at = at.max(stretch.end);
    }
    count(at, end);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_behind_a_function_are_not_code() {
        let unwound = BTreeMap::from([(0x10, 0x20), (0x40, 0x80)]);
        assert_eq!(clipped(&unwound, 0x10, 0x30), 0x20);
        assert_eq!(clipped(&unwound, 0x40, 0x60), 0x60, "another symbol begins inside");
        assert_eq!(clipped(&unwound, 0x90, 0xa0), 0xa0, "no unwind information");
    }

    #[test]
    fn only_large_gaps_count() {
        let stretch = |start, end| Stretch { start, end, name: String::new() };
        let found = [stretch(0x1000, 0x1100), stretch(0x1110, 0x1200), stretch(0x3000, 0x3800)];
        assert_eq!(gaps(&found, 0x1000, 0x4000), 0x3000 - 0x1200 + 0x800);
        assert_eq!(gaps(&found, 0x1000, 0x1200), 0);
        assert_eq!(gaps(&found, 0x5000, 0x6000), 0x1000);
    }
}
