//! Whose code a bug is in: the program's, that of a library that it uses, or that of the compiler's and system's own ones.

use crate::bug::Side;
use crate::engine::{Location, ModuleInfo};

/// From nearest to farthest: of several sides the nearest counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Owner {
    Program,
    Dependency,
    Runtime,
}

/// Where package managers, and people, put the source of others.
const OTHERS: [&str; 9] = [
    "/.cargo/registry/",
    "/cargo/registry/",
    "/.cargo/git/",
    "/vendor/",
    "/third_party/",
    "/third-party/",
    "/external/",
    "/_deps/",
    "/.conan/",
];

impl Owner {
    /// The name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Owner::Program => "program",
            Owner::Dependency => "dependency",
            Owner::Runtime => "runtime",
        }
    }

    /// Of a bug: the nearest of its sides' owners. What has no place is the program's.
    pub(crate) fn of(sides: &[Side], modules: &[ModuleInfo]) -> Owner {
        sides
            .iter()
            .filter_map(Side::place)
            .map(|place| of_place(place, modules))
            .min()
            .unwrap_or(Owner::Program)
    }
}

fn of_place(place: &Location, modules: &[ModuleInfo]) -> Owner {
    let is = |module: &&ModuleInfo| module.path.rsplit('/').next() == Some(place.module.as_str());
    let module = modules.iter().find(is);
    if module.is_some_and(|module| !module.managed) {
        return Owner::Runtime;
    }
    let file = place.file.as_deref().unwrap_or_default();
    let runtime =
        file.contains("/include/c++/") || file.starts_with("/rustc/") || file.contains("/rustlib/src/");
    let installed = ["/usr/", "/opt/", "/nix/store/"].iter().any(|root| file.starts_with(root));
    let system = ["/lib/", "/lib64/", "/usr/lib/", "/usr/local/lib/"];
    let library = module.is_some_and(|module| system.iter().any(|root| module.path.starts_with(root)));
    match () {
        () if runtime => Owner::Runtime,
        () if installed || library || OTHERS.iter().any(|part| file.contains(part)) => Owner::Dependency,
        () => Owner::Program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_code_it_is() {
        let module = |path: &str, managed| ModuleInfo { path: path.into(), build_id: String::new(), managed };
        let modules = [
            module("/home/x/prog", true),
            module("/usr/lib/libring.so", true),
            module("/lib/libc.so.6", false),
        ];
        let owner = |module: &str, file: Option<&str>| {
            let place = Location {
                module: module.into(),
                offset: 0,
                function: None,
                file: file.map(Into::into),
                line: 1,
                column: 0,
                inlined: false,
            };
            Owner::of(&[Side::at(None, vec![place], 0)], &modules)
        };
        assert_eq!(owner("prog", Some("/home/x/src/a.c")), Owner::Program);
        assert_eq!(owner("prog", None), Owner::Program);
        assert_eq!(owner("prog", Some("/root/.cargo/registry/src/i/crossbeam/lib.rs")), Owner::Dependency);
        assert_eq!(owner("prog", Some("/usr/include/boost/a.hpp")), Owner::Dependency);
        assert_eq!(owner("prog", Some("/usr/include/c++/12/atomic")), Owner::Runtime);
        assert_eq!(owner("libring.so", None), Owner::Dependency);
        assert_eq!(owner("libc.so.6", None), Owner::Runtime);
        assert_eq!(Owner::of(&[], &modules), Owner::Program);
    }
}
