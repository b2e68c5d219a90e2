//! Extended resources that a class gives to its Nodes.
//!
//! A three-way merge like that of the node template, but over the Node's capacity, which is another resource of the
//! API. So two writes are needed. Resources are noted before they are applied and forgotten after they are removed: so
//! a crash between the two leaves nothing on a Node that is never removed.

use std::collections::BTreeMap;

/// Resources and their quantities, as texts.
pub type Quantities = BTreeMap<String, String>;

/// The next write. Both empty: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityPlan {
    /// The resources to note as applied, when they differ. `Some(None)`: none.
    pub note: Option<Option<Quantities>>,
    /// Resources to set (`Some`) or remove (`None`), once the note is written.
    pub resources: BTreeMap<String, Option<String>>,
}

/// Compares the resources of the class with those of the Node and those applied last.
///
/// Promises: applied step by step, the plan comes to an end. Resources that were never applied are not removed.
pub fn plan(wanted: &Quantities, on_node: &Quantities, noted: Option<&Quantities>) -> CapacityPlan {
    let nothing = Quantities::new();
    let last = noted.unwrap_or(&nothing);
    let is_left = |key: &String| !wanted.contains_key(key) && on_node.contains_key(key);
    let to_remove: BTreeMap<String, Option<String>> =
        last.keys().filter(|key| is_left(key)).map(|key| (key.clone(), None)).collect();
    let differs = |key: &String, value: &String| !on_node.get(key).is_some_and(|has| is_same(has, value));
    let to_set = wanted
        .iter()
        .filter(|(key, value)| differs(key, value))
        .map(|(key, value)| (key.clone(), Some(value.clone())));
    let mut note = wanted.clone();
    for key in to_remove.keys() {
        note.extend(last.get(key).map(|value| (key.clone(), value.clone())));
    }
    let note = (!note.is_empty()).then_some(note);
    CapacityPlan {
        note: (noted != note.as_ref()).then_some(note),
        resources: to_set.chain(to_remove).collect(),
    }
}

/// Returns whether the text is a quantity of a resource: a valid one that is not negative.
pub fn is_quantity(text: &str) -> bool {
    amount(text).is_some_and(|amount| amount >= 0)
}

/// Returns whether two quantities are equal: `1`, `1000m` and `1e0` are.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((amount(one), amount(other)), (Some(one), Some(other)) if one == other)
}

/// Returns a quantity in billionths. `None` for an invalid or too large one.
pub(crate) fn amount(text: &str) -> Option<i128> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '+' || c == '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (power_of_ten, power_of_two) = powers(suffix)?;
    let shift = power_of_ten + 9 - i32::try_from(fraction.len()).ok()?;
    let scaled = mantissa.checked_mul(1_i128.checked_shl(power_of_two)?)?.checked_mul(sign)?;
    let ten = 10_i128.checked_pow(shift.unsigned_abs())?;
    // Kubernetes rounds amounts below a billionth up; no Node has so little.
    if shift < 0 { Some(scaled / ten) } else { scaled.checked_mul(ten) }
}

fn powers(suffix: &str) -> Option<(i32, u32)> {
    Some(match suffix {
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "" => (0, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        other => (other.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantities(text: &str) -> Quantities {
        let pair = |word: &str| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        text.split_whitespace().filter_map(pair).collect()
    }

    /// Writes until nothing is left to do, without a crash; `-` is no note. Returns the writes.
    fn check(wanted: &str, on_node: &str, noted: &str, expected: &[&str]) {
        let wanted = quantities(wanted);
        let mut on_node = quantities(on_node);
        let mut noted = (noted != "-").then(|| quantities(noted));
        let mut reported = Vec::new();
        for _ in 0..10 {
            let plan = plan(&wanted, &on_node, noted.as_ref());
            if plan == CapacityPlan::default() {
                assert_eq!(reported, expected);
                return;
            }
            if let Some(note) = plan.note {
                reported
                    .push(format!("note {:?}", note.as_ref().map(|note| note.keys().collect::<Vec<_>>())));
                noted = note;
                continue;
            }
            for (key, value) in plan.resources {
                reported.push(format!("{key}={}", value.as_deref().unwrap_or("-")));
                match value {
                    Some(value) => drop(on_node.insert(key, value)),
                    None => drop(on_node.remove(&key)),
                }
            }
        }
        panic!("no end: {reported:?}");
    }

    #[test]
    fn nothing_wanted_and_nothing_applied_is_nothing_to_do() {
        check("", "cpu=4", "-", &[]);
        check("a=1", "a=1", "a=1", &[]);
    }

    #[test]
    fn what_is_wanted_is_noted_and_then_set() {
        check("a=1", "cpu=4", "-", &[r#"note Some(["a"])"#, "a=1"]);
        check("a=2", "a=1", "a=1", &[r#"note Some(["a"])"#, "a=2"]);
        check("a=1", "", "a=1", &["a=1"]);
    }

    #[test]
    fn what_is_not_wanted_any_more_is_removed_and_then_forgotten() {
        check("", "a=1 cpu=4", "a=1", &["a=-", "note None"]);
        check("b=1", "a=1", "a=1", &[r#"note Some(["a", "b"])"#, "a=-", "b=1", r#"note Some(["b"])"#]);
        check("", "", "a=1", &["note None"]);
        check("", "", "", &["note None"]);
    }

    #[test]
    fn what_nobody_applied_is_left_alone() {
        check("", "a=1", "-", &[]);
    }

    #[test]
    fn the_same_amount_in_other_words_is_no_change() {
        for (one, other) in [
            ("1", "1000m"),
            ("1Ki", "1024"),
            ("0.5", "500m"),
            ("1e3", "1k"),
            ("2E", "2e18"),
            ("+1", "1"),
            ("1.50", "1.5"),
            ("-1", "-1000m"),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in
            [("1", "2"), ("1", "1Ki"), ("1", ""), ("1", "1x"), ("1", "1.2.3"), ("1", "-1"), ("9E", "1e400")]
        {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }
}
