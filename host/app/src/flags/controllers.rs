//! Parses `--controllers`, as Kubernetes' own programs do.

use machinist_runtime::context::settings::Controllers;

use super::value::FlagType;

/// The names of the controllers. Each is also accepted with the ending of Kubernetes' own controllers.
const NAMES: [&str; 3] = ["machine", "machineset", "machinedeployment"];
const ENDING: &str = "-controller";

impl FlagType for Controllers {
    /// A list: `*` for all, a name for one, `-` and a name for all but it. Of two words about one controller the first
    /// counts.
    fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let unknown: Vec<&str> = words.iter().copied().filter(|word| !is_known(word)).collect();
        if !unknown.is_empty() {
            let known = NAMES.join(", ");
            return Err(format!(
                "there is no {}: name {known}, `*` for all, or -NAME for all but one",
                unknown.join(", ")
            ));
        }
        let [machines, sets, deployments] = NAMES.map(|name| runs(name, &words));
        if !(machines || sets || deployments) {
            return Err("no controller is left: write `*`, or name one".to_owned());
        }
        Ok(Self { machines, sets, deployments })
    }
}

fn is_known(word: &str) -> bool {
    let name = bare(word.strip_prefix('-').unwrap_or(word));
    word == "*" || NAMES.contains(&name)
}

fn bare(name: &str) -> &str {
    name.strip_suffix(ENDING).unwrap_or(name)
}

fn runs(name: &str, words: &[&str]) -> bool {
    let about = words.iter().find_map(|word| match word.strip_prefix('-') {
        Some(other) => (bare(other) == name).then_some(false),
        None => (bare(word) == name).then_some(true),
    });
    about.unwrap_or_else(|| words.contains(&"*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: [bool; 3]) {
        let [machines, sets, deployments] = expected;
        assert_eq!(Controllers::parse(text), Ok(Controllers { machines, sets, deployments }), "{text}");
    }

    #[test]
    fn controllers_are_chosen_as_kubernetes_own_are() {
        check("*", [true, true, true]);
        check("machine", [true, false, false]);
        check("machineset,machinedeployment", [false, true, true]);
        check("*,-machine", [false, true, true]);
        check("-machine,*", [false, true, true]);
        check("machine,-machine", [true, false, false]);
        check("-machine,machine,machineset", [false, true, false]);
        check(" machine-controller , -machineset-controller ,*", [true, false, true]);
        check("*,machine", [true, true, true]);
    }

    #[test]
    fn what_is_not_known_is_named_with_what_is() {
        for (text, part) in [
            ("machines", "there is no machines: name machine, machineset, machinedeployment"),
            ("*,-node,deployment", "there is no -node, deployment: "),
            ("", "no controller is left"),
            ("-machine", "no controller is left"),
            ("*,-machine,-machineset,-machinedeployment", "no controller is left"),
            ("--machine", "there is no --machine"),
        ] {
            let said = Controllers::parse(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
