//! Globs: `*` is any text, `?` any one character, everything else itself. Names of functions have brackets in them, so
//! brackets are no classes here.

/// Whether the whole text matches. Takes time in proportion to both lengths multiplied, whatever the glob is.
pub(super) fn is_match(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Behind the last star, and what it has taken so far: a later star can take over from it.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(&char) if char == '?' || char == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((behind, taken)) = star else { return false };
                star = Some((behind, taken + 1));
                (at, from) = (behind, taken + 1);
            }
        }
    }
    glob[at..].iter().all(|char| *char == '*')
}

/// The same for paths: a glob that does not begin with `/` may match the end of a path, by whole names.
pub(super) fn is_path_match(glob: &str, path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    is_match(glob, path) || (!glob.starts_with('/') && ends.into_iter().any(|end| is_match(glob, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("*a*b", "xaxbxb", true),
            ("??", "é1", true),
            ("Vec<T>::push[0]", "Vec<T>::push[0]", true),
            ("**", "x", true),
        ] {
            assert_eq!(is_match(glob, text), expected, "{glob} {text}");
        }
        assert!(is_path_match("src/*.c", "/home/x/src/a.c") && is_path_match("a.c", "a.c"));
        assert!(!is_path_match("rc/a.c", "/home/x/src/a.c") && !is_path_match("/a.c", "/home/a.c"));
        // A glob that takes backtracking matchers for ever.
        assert!(!is_match(&"*a".repeat(2000), &"a".repeat(1000)));
    }
}
