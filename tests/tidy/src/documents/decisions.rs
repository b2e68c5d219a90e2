//! Decision records: one page each, numbered without a gap.

use crate::Complaint;
use crate::tree::File;

const FOLDER: &str = "host/decisions/";
const INDEX: &str = "README.md";
const PAGE_LINES: usize = 70;

/// Names are `0001-some-words.md`, numbers follow one another, each is one page with a heading, and the index names
/// each.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let (mut complaints, index) = (Vec::new(), format!("{FOLDER}{INDEX}"));
    let named = files.iter().find(|file| file.path == index).and_then(|file| file.text.as_deref());
    let mut due = 1;
    for file in files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path != index) {
        let name = file.path.strip_prefix(FOLDER).unwrap_or_default();
        if named.is_some_and(|text| !text.contains(&format!("]({name})"))) {
            complaints.push(format!("{index}: does not name {name}"));
        }
        match number(&file.path) {
            Some(number) if number == due => due += 1,
            Some(number) => {
                complaints.push(format!("{}: number {number}, {due} is due", file.path));
                due = number + 1;
            }
            None => complaints.push(format!("{}: the name is not 0001-some-words.md", file.path)),
        }
        let lines = file.lines().count();
        if lines > PAGE_LINES {
            complaints.push(format!("{}: {lines} lines, at most {PAGE_LINES}", file.path));
        }
        if !file.lines().next().is_some_and(|(_, line)| line.starts_with("# ")) {
            complaints.push(format!("{}:1: no heading", file.path));
        }
    }
    if due == 1 {
        complaints.push(format!("{FOLDER}: no decision is recorded"));
    }
    complaints
}

fn number(path: &str) -> Option<u32> {
    let (number, words) = path.strip_prefix(FOLDER)?.strip_suffix(".md")?.split_once('-')?;
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (number.len() == 4 && !words.is_empty() && words.chars().all(is_word)).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(names: &[&str]) -> Vec<Complaint> {
        let files: Vec<File> =
            names.iter().map(|name| File::new(&format!("{FOLDER}{name}"), "# Title\n")).collect();
        check(&files)
    }

    #[test]
    fn a_row_without_a_gap_passes() {
        assert!(complaints(&["0001-own-loop.md", "0002-egress.md"]).is_empty());
    }

    #[test]
    fn gaps_doubles_invalid_names_and_an_empty_folder_are_found() {
        assert_eq!(complaints(&["0001-a.md", "0003-b.md"]), ["host/decisions/0003-b.md: number 3, 2 is due"]);
        assert_eq!(complaints(&["0001-a.md", "0001-b.md"]).len(), 1);
        assert_eq!(complaints(&["0001-a.md", "2-b.md"]).len(), 1);
        assert_eq!(complaints(&["0001-a.md", "notes.txt"]).len(), 1);
        assert_eq!(complaints(&[]).len(), 1);
    }

    #[test]
    fn the_index_names_each_record() {
        let record = File::new("host/decisions/0001-a.md", "# A\n");
        let index = |text: &str| File::new("host/decisions/README.md", text);
        assert!(check(&[record.clone(), index("[1](0001-a.md) A")]).is_empty());
        let complaint = "host/decisions/README.md: does not name 0001-a.md";
        assert_eq!(check(&[record, index("nothing")]), [complaint]);
    }

    #[test]
    fn more_than_a_page_and_a_missing_heading_are_found() {
        let long = File::new("host/decisions/0001-a.md", &format!("# A\n{}", "x\n".repeat(PAGE_LINES)));
        assert_eq!(check(&[long]).len(), 1);
        assert_eq!(check(&[File::new("host/decisions/0001-a.md", "A")]).len(), 1);
    }
}
