//! `--env`: which environment the program gets, and its recordings keep.

use std::ffi::{OsStr, OsString};

/// Which variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Environment {
    /// All of ours.
    Keep,
    /// The same few everywhere.
    Clean,
    /// Those of ours with these names.
    Only(Vec<String>),
}

/// What `clean` is: enough to find programs, and text as most systems have it.
const CLEAN: [(&str, &str); 3] =
    [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/"), ("LANG", "C.UTF-8")];

/// These make Rust's panics read all debug information, one event at a time. (A report has the stacks.)
const STACKS: [&str; 2] = ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

impl Environment {
    /// What `--env` says.
    pub(super) fn parse(text: &str) -> Result<Environment, String> {
        match text {
            "keep" => Ok(Environment::Keep),
            "clean" => Ok(Environment::Clean),
            _ => {
                let names: Vec<String> = text.split(',').map(str::to_string).collect();
                match names.iter().find(|name| name.is_empty() || name.contains('=')) {
                    Some(name) => Err(format!(
                        "not `keep`, `clean` or names of variables with commas in between (`{name}` is no name)"
                    )),
                    None => Ok(Environment::Only(names)),
                }
            }
        }
    }

    /// The program's environment, made of ours.
    pub(crate) fn of(&self, ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let listed = |name: &OsStr, names: &[String]| names.iter().any(|it| name == it.as_str());
        match self {
            Environment::Keep => {
                ours.filter(|(name, _)| !STACKS.iter().any(|stacks| name == stacks)).collect()
            }
            Environment::Clean => {
                CLEAN.iter().map(|&(name, value)| (OsString::from(name), OsString::from(value))).collect()
            }
            Environment::Only(names) => ours.filter(|(name, _)| listed(name, names)).collect(),
        }
    }

    /// Names that were given and are not set.
    pub(super) fn missing(&self) -> Vec<String> {
        match self {
            Environment::Keep | Environment::Clean => Vec::new(),
            Environment::Only(names) => {
                names.iter().filter(|name| std::env::var_os(name).is_none()).cloned().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments() {
        let ours = || {
            [("A", "1"), ("RUST_BACKTRACE", "1"), ("TOKEN", "secret")]
                .into_iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        };
        let names = |text: &str| -> Vec<String> {
            let given = Environment::parse(text).unwrap().of(ours());
            given.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
        };
        assert_eq!(names("keep"), ["A", "TOKEN"]);
        assert_eq!(names("A"), ["A"]);
        assert_eq!(names("A,RUST_BACKTRACE,B"), ["A", "RUST_BACKTRACE"]);
        assert_eq!(names("clean"), ["PATH", "HOME", "LANG"]);
        for wrong in ["", "A,,B", "A=1", ","] {
            assert!(Environment::parse(wrong).is_err(), "{wrong}");
        }
    }
}
