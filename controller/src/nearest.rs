//! "Did you mean …?": the name that is there and most like one that is not.

use strsim::damerau_levenshtein;

/// Looks for it among names that are offered one by one.
pub(crate) struct Nearest<'a> {
    wanted: &'a str,
    /// How many letters differ, and the name.
    best: Option<(usize, String)>,
}

impl<'a> Nearest<'a> {
    pub(crate) fn new(wanted: &'a str) -> Nearest<'a> {
        Nearest { wanted, best: None }
    }

    /// A name, and how the user is told of it. Nothing is near that differs in more than a third of its letters.
    pub(crate) fn offer(&mut self, name: &str, shown: &str) {
        let most = self.wanted.chars().count().div_ceil(3);
        // Most names are of another length: nothing more is needed to tell.
        if name.chars().count().abs_diff(self.wanted.chars().count()) > most {
            return;
        }
        let distance = damerau_levenshtein(name, self.wanted);
        let better = |(best, known): &(usize, String)| (distance, shown) < (*best, known.as_str());
        if distance <= most && self.best.as_ref().is_none_or(better) {
            self.best = Some((distance, shown.to_owned()));
        }
    }

    /// The same for a function, which may be called by less than its whole name.
    pub(crate) fn offer_function(&mut self, function: &str) {
        let short = function.split('(').next().unwrap_or(function);
        let own = short.rsplit("::").next().unwrap_or(short);
        [function, short, own].into_iter().for_each(|name| self.offer(name, function));
    }

    /// `; did you mean …?`, if anything was near.
    pub(crate) fn question(&self) -> String {
        self.best.as_ref().map(|(_, name)| format!("; did you mean {name}?")).unwrap_or_default()
    }

    /// Whether anything was near.
    pub(crate) fn is_found(&self) -> bool {
        self.best.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Nearest;

    #[test]
    fn the_nearest_of_several() {
        let question = |wanted: &str| {
            let mut nearest = Nearest::new(wanted);
            for name in ["queue::push(int)", "queue::pop()", "main", "queue::pull(int)"] {
                nearest.offer_function(name);
            }
            nearest.question()
        };
        assert_eq!(question("psuh"), "; did you mean queue::push(int)?");
        assert_eq!(question("queue::pup"), "; did you mean queue::pop()?");
        assert_eq!(question("man"), "; did you mean main?");
        assert_eq!(question("something"), "");
    }
}
