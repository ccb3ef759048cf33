//! `--managed` and `--unmanaged`: which code is under the model. The library of `odd/dlopen.c` races, by itself.

use crate::build::{Built, GNU_O2};
use crate::run::Directory;
use crate::source::{Source, Variant};
use std::path::Path;

/// The program with its library under this name.
fn with_library(directory: &Directory, name: &str) -> Built {
    let mut built = Source::named("odd/dlopen.c").build(Variant::Buggy, GNU_O2);
    let library = directory.path.join(name);
    std::fs::copy(Path::new(&built.args[0]), &library).unwrap();
    built.args = vec![library.to_str().unwrap().to_owned()];
    built
}

/// The kinds of bugs that are found, each once. Both threads add to the plain counter in every execution, so that each
/// shows the race.
fn kinds(directory: &Directory, built: &Built, options: &str) -> Vec<String> {
    let report = directory.report(&format!("-n 20 --expect-exit 0 {options}"), built).unwrap();
    let mut kinds: Vec<_> = report.kinds().into_iter().map(str::to_owned).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_library_is_managed_unless_told_otherwise() {
    let directory = Directory::new("managed");
    let built = with_library(&directory, "counter.so");
    assert_eq!(kinds(&directory, &built, ""), ["race"]);
    let whole = built.args[0].clone();
    for library in ["counter.so", &whole] {
        assert_eq!(kinds(&directory, &built, &format!("--unmanaged {library}")), [""; 0], "{library}");
    }
    assert_eq!(kinds(&directory, &built, "--unmanaged another.so"), ["race"]);
}

#[test]
fn a_library_of_the_runtime_is_not_unless_told_otherwise() {
    let directory = Directory::new("managed");
    let built = with_library(&directory, "libm.so.counter");
    assert_eq!(kinds(&directory, &built, ""), [""; 0]);
    assert_eq!(kinds(&directory, &built, "--managed libm.so.counter"), ["race"]);
}
