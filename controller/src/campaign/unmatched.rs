//! Names in options that nothing has: `--managed`, `--unmanaged` and the rules of `--orders`. A name that is spelt wrong must
//! not go unnoticed: the user believes that something was done.

use super::setup::Setup;
use crate::engine::evidence::Ledger;
use crate::engine::is_meant;
use crate::inspect::files::{self, ProgramFiles};
use crate::nearest::Nearest;
use std::path::Path;
use std::sync::Arc;
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::file::{OrdersFile, Place, ends, same_function};

/// Names of files that are listed if none is near.
const LISTED: usize = 12;

/// Warnings of what matches nothing in the files that the program's code is in. Without files, nothing was run.
pub(super) fn warnings(setup: &Setup, ledger: &Ledger) -> Vec<String> {
    let paths: Vec<&str> = ledger.modules.keys().map(String::as_str).collect();
    if paths.is_empty() {
        return Vec::new();
    }
    let given = [("--managed", &setup.engine.managed), ("--unmanaged", &setup.engine.unmanaged)];
    let items = given.into_iter().flat_map(|(option, items)| items.iter().map(move |item| (option, item)));
    let missing = items.filter(|(_, item)| !paths.iter().any(|path| is_meant(path, item)));
    let mut warnings: Vec<String> =
        missing.map(|(option, item)| format!("{option} {item}: {}", no_file(item, &paths))).collect();
    // The file was read before anything was run.
    let rules = setup.engine.orders.as_deref().and_then(|text| OrdersFile::parse(text).ok());
    if let Some(rules) = rules {
        let managed = ledger.modules.iter().filter(|(_, managed)| **managed);
        warnings.extend(unmatched_rules(&rules, &managed.map(|(path, _)| path.as_str()).collect::<Vec<_>>()));
    }
    warnings
}

/// No file's path has this in it.
fn no_file(item: &str, paths: &[&str]) -> String {
    let mut nearest = Nearest::new(item);
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        // `libz` of `libz.so.1`.
        [path, name, name.split('.').next().unwrap_or(name)]
            .into_iter()
            .for_each(|it| nearest.offer(it, name));
    }
    let said = "the program runs no code of such a file";
    if nearest.is_found() {
        return format!("{said}{}", nearest.question());
    }
    let names: Vec<&str> = paths.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    format!("{said} (it has {}{more})", names[..names.len().min(LISTED)].join(", "))
}

/// A rule, whether it holds anywhere, and what is most like it.
struct Rule<'a> {
    place: &'a Place,
    matches: bool,
    nearest: Nearest<'a>,
    /// The nearest line of its file that has code.
    line: Option<u32>,
}

fn unmatched_rules(rules: &OrdersFile, paths: &[&str]) -> Vec<String> {
    let mut rules: Vec<Rule<'_>> = rules
        .places()
        .map(|place| {
            let wanted = match place {
                Place::Instruction { module: name, .. } | Place::Line { file: name, .. } => name,
                Place::Function(name) => name,
            };
            Rule { place, matches: false, nearest: Nearest::new(wanted), line: None }
        })
        .collect();
    for path in paths {
        let Ok(bytes) = files::read_shared(Path::new(path), files::MAX_BINARY) else { continue };
        let Ok(image) = Image::parse(bytes) else { continue };
        let mut debug = Debug::new(&image, Arc::new(ProgramFiles::new(Path::new(path))));
        rules.iter_mut().for_each(|rule| rule.instruction(path, &image));
        if rules.iter().any(|rule| matches!(rule.place, Place::Function(_)) && !rule.matches) {
            debug.each_function(&mut |name, _| rules.iter_mut().for_each(|rule| rule.function(name)));
        }
        if rules.iter().any(|rule| matches!(rule.place, Place::Line { .. }) && !rule.matches) {
            debug.each_line(&mut |file, line| rules.iter_mut().for_each(|rule| rule.source(file, line)));
        }
    }
    rules.iter().filter(|rule| !rule.matches).map(Rule::warning).collect()
}

impl Rule<'_> {
    fn instruction(&mut self, path: &str, image: &Image) {
        let Place::Instruction { module, offset } = self.place else { return };
        let name = path.rsplit('/').next().unwrap_or(path);
        // Rules know modules by their file's name.
        if ends(name, module) {
            self.matches |= image.code_at(*offset).is_some();
        } else {
            self.nearest.offer(name, name);
        }
    }

    fn function(&mut self, name: &str) {
        let Place::Function(wanted) = self.place else { return };
        self.matches |= same_function(name, wanted);
        if !self.matches {
            self.nearest.offer_function(name);
        }
    }

    fn source(&mut self, path: &str, number: u32) {
        let Place::Line { file, line } = self.place else { return };
        if !ends(path, file) {
            let name = path.rsplit('/').next().unwrap_or(path);
            self.nearest.offer(name, name);
        } else if number != 0 {
            self.matches |= number == *line;
            let far = |it: u32| (it.abs_diff(*line), it);
            self.line =
                Some(self.line.map_or(number, |known| if far(number) < far(known) { number } else { known }));
        }
    }

    fn warning(&self) -> String {
        let what = match (self.place, self.line) {
            (Place::Instruction { .. }, _) => "no code under the model is there".to_owned(),
            (Place::Line { .. }, Some(line)) => {
                return format!(
                    "--orders: the rule `{}` matches nothing: no code is of that line; the nearest line is {line}",
                    self.place
                );
            }
            (Place::Line { .. }, None) => "no code under the model is of such a file".to_owned(),
            (Place::Function(_), _) => "no function under the model is called so".to_owned(),
        };
        format!("--orders: the rule `{}` matches nothing: {what}{}", self.place, self.nearest.question())
    }
}
