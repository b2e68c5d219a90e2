//! The threat model, and the attacks among the tests.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::tree::File;

const PAGE: &str = "docs/security/threat-model.md";

/// The start of the name of a test that attacks the host.
const ATTACK: &str = "attack_";

/// The page names each attack among the tests, and no other.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut there: BTreeMap<&str, &str> = BTreeMap::new();
    for file in files.iter().filter(|file| is_code(file)) {
        there.extend(file.lines().filter_map(|(_, line)| test(line)).map(|name| (name, file.path.as_str())));
    }
    let page = files.iter().find(|file| file.path == PAGE);
    let on_page: BTreeMap<&str, usize> =
        page.into_iter().flat_map(File::lines).flat_map(|(number, line)| named(line, number)).collect();
    let unnamed = there.iter().filter(|(name, _)| !on_page.contains_key(*name));
    let gone = on_page.iter().filter(|(name, _)| !there.contains_key(*name));
    unnamed
        .map(|(name, path)| format!("{PAGE}: does not name {name} of {path}"))
        .chain(gone.map(|(name, number)| format!("{PAGE}:{number}: no test is called {name}")))
        .collect()
}

fn is_code(file: &File) -> bool {
    file.path.ends_with(".rs") && !file.path.starts_with("tests/tidy/")
}

/// The name of the attack whose function begins here.
fn test(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ")?;
    let name = rest.split(|c: char| !is_of_name(c)).next()?;
    (name.starts_with(ATTACK) && name.len() > ATTACK.len()).then_some(name)
}

/// The attacks that a line of the page names, each with the line's number.
fn named(line: &str, number: usize) -> impl Iterator<Item = (&str, usize)> {
    let words = line.split(|c: char| !is_of_name(c));
    words.filter(|word| word.starts_with(ATTACK)).map(move |word| (word, number))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(code: &str, page: &str) -> Vec<Complaint> {
        check(&[File::new("host/core/src/a.rs", code), File::new(PAGE, page)])
    }

    #[test]
    fn the_page_names_each_attack_and_no_other() {
        let code =
            "#[test]\nfn attack_by_night() {\n#[tokio::test]\n    async fn attack_at_noon() {\nfn calm() {}";
        assert!(complaints(code, "| a | `attack_by_night`, `attack_at_noon` |").is_empty());
        let unnamed = complaints(code, "`attack_by_night`");
        assert_eq!(unnamed, [format!("{PAGE}: does not name attack_at_noon of host/core/src/a.rs")]);
        let gone = complaints(code, "`attack_by_night`, `attack_at_noon`\n`attack_by_day`");
        assert_eq!(gone, [format!("{PAGE}:2: no test is called attack_by_day")]);
    }
}
