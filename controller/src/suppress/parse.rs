//! The file of suppressions as text.

use super::Entry;
use crate::bug::Kind;
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppress: Vec<Spanned<Raw>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    kind: Option<Spanned<String>>,
    function: Option<String>,
    file: Option<String>,
    module: Option<String>,
    #[serde(default)]
    reason: String,
}

/// The entries of a file; `shown` is its name in messages.
pub(super) fn entries(text: &str, shown: &str) -> Result<Vec<Entry>, String> {
    let line =
        |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
    let file: File = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(String::new, |span| format!(":{}", line(span.start)));
        // What is wrong is on the first line; the others show the text.
        let what = error.message().lines().next().unwrap_or("not TOML").to_string();
        format!("{shown}{place}: {what}")
    })?;
    let mut entries = Vec::new();
    for raw in file.suppress {
        let at = line(raw.span().start);
        let raw = raw.into_inner();
        let kind = raw.kind.map(|name| {
            kind_of(&name).map_err(|error| format!("{shown}:{}: {error}", line(name.span().start)))
        });
        let kind = kind.transpose()?;
        if kind.is_none() && raw.function.is_none() && raw.file.is_none() && raw.module.is_none() {
            return Err(format!(
                "{shown}:{at}: this entry would suppress every bug: give a kind, function, file or module"
            ));
        }
        entries.push(Entry {
            kind,
            function: raw.function,
            file: raw.file,
            module: raw.module,
            reason: raw.reason,
            origin: format!("{shown}:{at}"),
        });
    }
    Ok(entries)
}

fn kind_of(name: &Spanned<String>) -> Result<Kind, String> {
    let name = name.get_ref();
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name.as_str());
    found.ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("no kind of bug is called `{name}` (there are {})", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            ("\n[[suppress]\n", "f:2: "),
            ("[[suppress]]\nkind = \"race\"\nfunktion = \"x\"\n", "f:3: unknown field `funktion`"),
            ("[[supress]]\nkind = \"race\"\n", "f:1: unknown field `supress`"),
            ("[[suppress]]\n\nkind = \"rage\"\n", "f:3: no kind of bug is called `rage`"),
            ("[[suppress]]\nkind = 3\n", "f:2: invalid type"),
            ("# nothing\n[[suppress]]\nreason = \"all\"\n", "f:2: this entry would suppress every bug"),
            ("suppress = 3", "f:1: "),
        ];
        for (text, expected) in cases {
            let said = entries(text, "f").unwrap_err();
            assert!(said.starts_with(expected) && said.lines().count() == 1, "{text:?}: {said}");
        }
        assert_eq!(entries("", "f").unwrap(), []);
    }

    /// Whatever is in the file, there is an answer.
    #[test]
    fn hostile_files() {
        let deep = format!("suppress = {}{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [
            deep.as_str(),
            &"[a.".repeat(50_000),
            "\u{0}",
            "a = \"\u{202e}",
            &"[[suppress]]\n".repeat(10_000),
        ] {
            assert!(entries(text, "f").is_err());
        }
    }
}
