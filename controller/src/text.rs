//! Text that comes from files, made safe for a terminal.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

/// Whether a terminal would obey the character instead of showing it.
fn is_harmful(char: char) -> bool {
    // The ranges are Unicode's marks, embeddings, overrides and isolates of text direction.
    char.is_control()
        || matches!(char, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Shows a string with its control characters escaped: a test's name must not move the cursor, change colours
/// or reverse the direction of what follows.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if is_harmful(char) {
                write!(f, "{}", char.escape_unicode())?;
            } else {
                write!(f, "{char}")?;
            }
        }
        Ok(())
    }
}

/// The same for text of several lines.
pub(crate) fn printable_lines(text: &str) -> String {
    let lines = text.split('\n').map(|line| Printable(&line.replace('\t', "    ")).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

/// A path as a word of a shell's command line, to be pasted as it is. What a terminal must not see is written as bash,
/// zsh and ksh read it back: `$'\x1b'`.
pub(crate) fn shell_word(path: &OsStr) -> String {
    let fine = |char: char| char.is_ascii_alphanumeric() || "._-+/".contains(char);
    // What begins with a dash is an option.
    let dash = if path.as_bytes().starts_with(b"-") { "./" } else { "" };
    match path.to_str() {
        Some(text) if text.chars().all(fine) && !text.is_empty() => format!("{dash}{text}"),
        Some(text) if Printable(text).to_string() == text => {
            format!("'{dash}{}'", text.replace('\'', r"'\''"))
        }
        _ => {
            let mut word = format!("$'{dash}");
            for byte in path.as_bytes() {
                match byte {
                    b'\'' | b'\\' => word.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => word.push(char::from(*byte)),
                    _ => word.push_str(&format!("\\x{byte:02x}")),
                }
            }
            word + "'"
        }
    }
}

/// A string in DOT's quotes. Control characters have no place in a picture. Graphviz reads `&lt;` and its like as characters,
/// in every string.
pub(crate) fn dot_string(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '&' => out.push_str("&amp;"),
            char if is_harmful(char) => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

/// JSON in which no control character is left, nor one of text direction: JSON itself demands that only of those below
/// U+0020.
pub(crate) fn printable_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        match char {
            // Can only be inside a string: JSON, on one line, has none of them outside.
            char if is_harmful(char) => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let shown = Printable("SB\u{1b}[31m é\r\u{202e}").to_string();
        assert_eq!(shown, "SB\\u{1b}[31m é\\u{d}\\u{202e}");
    }

    /// A shell reads back what was meant.
    #[test]
    fn words_of_a_shell() {
        let paths: [&[u8]; 8] = [
            b"out/a-race-1.wmtrec",
            b"a b",
            b"it's $(id) `id` \"x\" \\ !",
            b"-o",
            b"- -",
            b"",
            b"\x1b[31m\nline'\\x",
            b"\xff\xe2\x80\xae1",
        ];
        for path in paths {
            let word = shell_word(OsStr::from_bytes(path));
            assert!(!word.chars().any(char::is_control), "{word}");
            let shell =
                std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output();
            let said = shell.unwrap().stdout;
            let said = said.strip_prefix(b"./").filter(|_| path.starts_with(b"-")).unwrap_or(&said);
            assert_eq!(said, path, "{word}");
        }
        assert_eq!(shell_word(OsStr::new("out/a-race-1.wmtrec")), "out/a-race-1.wmtrec");
        assert_eq!(shell_word(OsStr::new("a b")), "'a b'");
    }

    #[test]
    fn strings_of_dot() {
        assert_eq!(
            dot_string("a & b &lt; \"c\" \\N\u{1b}"),
            "\"a &amp; b &amp;lt; \\\"c\\\" \\\\N\u{fffd}\""
        );
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(printable_lines("a\tb\n\r\u{9b}31m\n"), "a    b\n\\u{d}\\u{9b}31m\n");
    }

    #[test]
    fn json_has_no_control_characters_and_says_the_same() {
        let value = serde_json::json!({"a\u{7f}": "\u{9b}31m \u{1b} é \u{202e}"});
        let text = printable_json(&value.to_string());
        assert!(!text.chars().any(is_harmful), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
