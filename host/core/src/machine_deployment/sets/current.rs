//! Finds the set of a deployment's template.

use jiff::Timestamp;

use crate::machine::template::Template;
use crate::value::id::Name;

/// A set to choose from.
#[derive(Clone, Copy, Debug)]
pub struct SetCandidate<'a, S> {
    pub set: S,
    pub created: Timestamp,
    pub name: &'a Name,
    /// The template of its Machines.
    pub template: &'a Template,
}

/// Returns the set of this template, of those not in deletion: the oldest with the same template, and of equally old
/// ones the first by name.
pub fn current<'a, S>(
    sets: impl IntoIterator<Item = SetCandidate<'a, S>>,
    template: &Template,
    hash_label: &str,
) -> Option<S> {
    let same =
        sets.into_iter().filter(|candidate| candidate.template.makes_the_same_as(template, hash_label));
    same.min_by_key(|candidate| (candidate.created, candidate.name)).map(|candidate| candidate.set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "template-hash";

    fn template(class: &str) -> Template {
        Template { class_name: class.to_owned(), ..Template::default() }
    }

    fn check(sets: &[(&str, i64, &str)], expected: Option<&str>) {
        let sets: Vec<(Name, Timestamp, Template)> = sets
            .iter()
            .map(|(name, created, class)| {
                (Name::from(*name), Timestamp::from_second(*created).unwrap(), template(class))
            })
            .collect();
        let candidates = sets.iter().map(|(name, created, template)| SetCandidate {
            set: name.as_str(),
            created: *created,
            name,
            template,
        });
        assert_eq!(current(candidates, &template("large"), HASH), expected);
    }

    #[test]
    fn the_oldest_of_the_template_is_the_current_one() {
        check(&[("a", 3, "large"), ("b", 2, "large"), ("c", 1, "small")], Some("b"));
        check(&[("b", 2, "large"), ("a", 2, "large")], Some("a"));
        check(&[("c", 1, "small")], None);
        check(&[], None);
    }
}
