//! How long lines of prose are.

use crate::not_yet::Finding;
use crate::tree::prose::{Form, Line, blocks};
use crate::tree::{File, written};

const COLUMNS: usize = 120;

/// No line of prose is longer, but rows of tables and lines that nobody can break: a single word, or a single link.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(files) {
        let blocks = blocks(file);
        let lines = blocks.iter().filter(|block| block.form != Form::Row).flat_map(|block| &block.lines);
        for line in lines.filter(|line| line.columns > COLUMNS && can_be_broken(line)) {
            let Line { number, columns, .. } = line;
            findings.push(Finding::one(
                &file.path,
                format!(
                    "{}:{number}: {columns} columns of prose, at most {COLUMNS}: break the line",
                    file.path
                ),
            ));
        }
    }
    findings
}

/// True if there is a space to break the line at, marks of lists aside.
fn can_be_broken(line: &Line<'_>) -> bool {
    let text = line.text.trim().trim_start_matches(['-', '*', '+', '>', ' ']);
    let target = text.strip_prefix('[').and_then(|rest| rest.split_once("](")).map(|(_, target)| target);
    let after_link = target.and_then(|target| target.split_once(')')).map(|(_, after)| after);
    text.contains(' ') && !after_link.is_some_and(|after| after.chars().all(|c| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let complaints = find(&[File::new(path, text)]).into_iter().map(|finding| finding.complaint);
        complaints.map(|it| it.split(": ").next().unwrap_or_default().into()).collect()
    }

    /// Prose of so many columns.
    fn prose(columns: usize) -> String {
        "ü ".repeat(columns).chars().take(columns - 1).chain(['.']).collect()
    }

    #[test]
    fn a_line_of_120_columns_passes_and_a_longer_one_does_not() {
        assert!(lines("a.md", &prose(COLUMNS)).is_empty());
        assert_eq!(lines("a.md", &prose(COLUMNS + 1)), ["a.md:1"]);
        assert_eq!(
            lines("a.md", &format!("# {}\n\n- {}\n", prose(COLUMNS), prose(COLUMNS))),
            ["a.md:1", "a.md:3"]
        );
    }

    #[test]
    fn comments_count_with_the_code_before_them() {
        assert!(lines("a.rs", &format!("/// {}", prose(COLUMNS - 4))).is_empty());
        for text in ["/// ", "    // ", "let a = 1; // "] {
            assert_eq!(lines("a.rs", &format!("\n{text}{}", prose(COLUMNS - 3))), ["a.rs:2"]);
        }
        assert_eq!(lines("a.yaml", &format!("# {}", prose(COLUMNS))), ["a.yaml:1"]);
    }

    #[test]
    fn tables_code_links_and_single_words_may_be_longer() {
        let long = prose(COLUMNS + 1);
        let word = "x".repeat(COLUMNS + 1);
        let text = format!("| {long} |\n\n```\n{long}\n```\n\n- [{long}](a.md).\n- {word}\n\n[a]: {word}\n");
        assert!(lines("a.md", &text).is_empty(), "{:?}", lines("a.md", &text));
        assert!(lines("a.rs", &format!("let a = \"{long}\";\n// {word}\n/// | {long} |\n")).is_empty());
    }
}
