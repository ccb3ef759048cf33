//! Limits of the kernel's (`ulimit`) that a program can notice: where its memory is mapped and how large the stacks of its
//! threads are depends on that of the stack; others decide which calls fail.

use serde::{Deserialize, Serialize};

type Number = libc::__rlimit_resource_t;

/// The limits, by the shell's names for them.
const ALL: [(&str, Number); 6] = [
    ("-s", libc::RLIMIT_STACK),
    ("-v", libc::RLIMIT_AS),
    ("-d", libc::RLIMIT_DATA),
    ("-n", libc::RLIMIT_NOFILE),
    ("-f", libc::RLIMIT_FSIZE),
    ("-l", libc::RLIMIT_MEMLOCK),
];

/// The capability to raise limits (`capabilities(7)`).
const CAP_SYS_RESOURCE: u32 = 24;

/// A soft limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Limit {
    /// As an option of `ulimit`.
    option: String,
    /// The largest number if there is none.
    soft: u64,
}

fn get(number: Number) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure that is written is ours.
    (unsafe { libc::getrlimit(number, &raw mut limit) } == 0).then_some(limit)
}

/// Those of wmtrace, which programs inherit.
pub(crate) fn own() -> Vec<Limit> {
    let limit = |(option, number): &(&str, Number)| {
        Some(Limit { option: (*option).to_owned(), soft: get(*number)?.rlim_cur })
    };
    ALL.iter().filter_map(limit).collect()
}

/// A limit to be set between fork and exec; if it is above what is allowed, as high as it may be.
#[derive(Clone, Copy)]
pub(crate) struct ToSet {
    number: Number,
    soft: u64,
    hard: u64,
}

/// Which limits have to be set so that a program has these.
pub(crate) fn to_set(wanted: &[Limit]) -> Vec<ToSet> {
    let differs = |limit: &Limit| {
        let number = ALL.iter().find(|(option, _)| *option == limit.option)?.1;
        let own = get(number)?;
        (own.rlim_cur != limit.soft).then_some(ToSet { number, soft: limit.soft, hard: own.rlim_max })
    };
    wanted.iter().filter_map(differs).collect()
}

impl ToSet {
    /// System calls only.
    pub(crate) fn set(self) {
        let set = |soft, hard| {
            let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
            // SAFETY: the structure that is read is ours.
            unsafe { libc::setrlimit(self.number, &raw const limit) == 0 }
        };
        // Whether it was too much, a replay that diverges says (`beyond`).
        let _ = set(self.soft, self.hard.max(self.soft)) || set(self.hard, self.hard);
    }
}

/// The limits that cannot be as high here, in words.
pub(crate) fn beyond(wanted: &[Limit]) -> Vec<String> {
    if may_raise() {
        return Vec::new();
    }
    let too_high = to_set(wanted).into_iter().filter(|limit| limit.soft > limit.hard);
    too_high
        .filter_map(|limit| {
            let option = ALL.iter().find(|(_, number)| *number == limit.number)?.0;
            let (soft, hard) = (shown(option, limit.soft), shown(option, limit.hard));
            Some(format!("`ulimit {option}` was {soft}, and cannot be more than {hard} here"))
        })
        .collect()
}

/// As `ulimit` shows it.
fn shown(option: &str, limit: u64) -> String {
    match (limit, option) {
        (libc::RLIM_INFINITY, _) => "unlimited".to_owned(),
        (_, "-n") => limit.to_string(),
        _ => format!("{} KiB", limit / 1024),
    }
}

fn may_raise() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = capabilities.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    capabilities.is_some_and(|set| set >> CAP_SYS_RESOURCE & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_set() {
        let mut limits = own();
        assert_eq!(limits.len(), ALL.len());
        assert!(to_set(&limits).is_empty() && beyond(&limits).is_empty());
        limits[0].soft = limits[0].soft.wrapping_sub(4096);
        limits.push(Limit { option: "-?".to_owned(), soft: 1 });
        assert_eq!(to_set(&limits).len(), 1);
    }
}
