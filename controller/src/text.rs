//! Text that comes from files, made safe for a terminal.

use std::fmt;

/// Shows a string with its control characters escaped: a test's name must not move the cursor, change colours
/// or reverse the direction of what follows.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            // The ranges are Unicode's marks, embeddings, overrides and isolates of text direction.
            if char.is_control()
                || matches!(char, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                write!(f, "{}", char.escape_unicode())?;
            } else {
                write!(f, "{char}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let shown = Printable("SB\u{1b}[31m é\r\u{202e}").to_string();
        assert_eq!(shown, "SB\\u{1b}[31m é\\u{d}\\u{202e}");
    }
}
