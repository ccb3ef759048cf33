//! Names for people: C++ and Rust symbols demangled.

/// The most bytes of a mangled name that are worth demangling: beyond it demangling can explode.
const MAX_MANGLED: usize = 4096;

/// The name as its programmer wrote it, or the symbol itself.
pub fn demangle(symbol: &str) -> String {
    if symbol.len() > MAX_MANGLED {
        return symbol.to_owned();
    }
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    if symbol.starts_with("_Z") {
        let options = cpp_demangle::DemangleOptions::default();
        let limits = cpp_demangle::ParseOptions::default().recursion_limit(96);
        if let Ok(parsed) = cpp_demangle::Symbol::new_with_options(symbol, &limits)
            && let Ok(name) = parsed.demangle_with_options(&options)
        {
            return name;
        }
    }
    symbol.to_owned()
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn both_languages_and_neither() {
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(
            demangle("_ZN4core4sync6atomic11atomic_load17h4efeeb5bdcec1a4aE"),
            "core::sync::atomic::atomic_load"
        );
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("_Znonsense"), "_Znonsense");
    }
}
