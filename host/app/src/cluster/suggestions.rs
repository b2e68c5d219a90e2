//! Suggestions for a name that does not exist.

/// A message has so many names.
const MOST_NAMES: usize = 5;

/// Returns the advice for a name that does not exist. `kind`: of the objects.
pub(crate) fn instead(names: &[String], name: &str, kind: &str) -> String {
    if names.is_empty() {
        return format!("it has no {kind}s at all; choose the namespace with -n");
    }
    let near: Vec<&str> = names
        .iter()
        .filter(|other| other.contains(name) || name.contains(other.as_str()))
        .take(MOST_NAMES)
        .map(String::as_str)
        .collect();
    if near.is_empty() {
        let some: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
        let many = match names.len() {
            1 => format!("its only {kind}"),
            many => format!("one of {many} {kind}s, such as"),
        };
        format!("choose another namespace with -n, or {many} {}", some.join(", "))
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_shown() {
        let names = ["worker-1", "worker-2", "big"].map(str::to_owned);
        assert_eq!(instead(&names, "worker", "Machine"), "did you mean worker-1, worker-2?");
        assert_eq!(
            instead(&names, "nothing", "Machine"),
            "choose another namespace with -n, or one of 3 Machines, such as worker-1, worker-2, big"
        );
        assert_eq!(
            instead(&names[..1], "x", "MachineSet"),
            "choose another namespace with -n, or its only MachineSet worker-1"
        );
        assert_eq!(
            instead(&[], "x", "MachineSet"),
            "it has no MachineSets at all; choose the namespace with -n"
        );
    }
}
