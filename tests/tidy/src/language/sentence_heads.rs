//! Sentences that begin with a clause in place of the thing that acts.

use crate::not_yet::Finding;
use crate::tree::prose::{Block, Form, Origin, blocks};
use crate::tree::{File, written};

/// Words that make a clause the subject.
const HEADS: [&str; 4] = ["What", "Who", "Whose", "Whoever"];

/// A word that has a plain one.
const OLD_WORD: &str = "anew";

/// Sentences of documents and of documentation in code begin with none of the words, but for questions in headings and
/// tables, and none contains the old word.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(files) {
        for block in blocks(file).iter().filter(|block| block.origin != Origin::Comment) {
            for (number, head) in heads(block) {
                findings.push(Finding::one(
                    &file.path,
                    format!(
                        "{}:{number}: a sentence begins with {head}: start with the thing that acts, then one active verb",
                        file.path
                    ),
                ));
            }
            for word in block.words().iter().filter(|word| word.text.eq_ignore_ascii_case(OLD_WORD)) {
                findings.push(Finding::one(
                    &file.path,
                    format!(
                        "{}:{}: {OLD_WORD}: write \"again\", or say that the thing is new",
                        file.path, word.line
                    ),
                ));
            }
        }
    }
    findings
}

/// The forbidden words that sentences of a block begin with, each with its line.
fn heads<'a>(block: &Block<'a>) -> Vec<(usize, &'a str)> {
    let may_ask = block.form != Form::Text;
    let sentences = sentences(block);
    let bad = sentences.iter().filter(|sentence| !(may_ask && sentence.is_question));
    bad.filter(|sentence| HEADS.contains(&sentence.word)).map(|it| (it.line, it.word)).collect()
}

struct Head<'a> {
    line: usize,
    word: &'a str,
    is_question: bool,
}

/// How the sentences of a block begin. A cell of a table begins one, and so does whatever follows `.`, `:`, `!` or `?`.
fn sentences<'a>(block: &Block<'a>) -> Vec<Head<'a>> {
    let mut sentences: Vec<Head<'a>> = Vec::new();
    let mut begins = true;
    for line in &block.lines {
        for (index, cell) in line.text.split('|').enumerate() {
            begins |= index > 0 && block.form == Form::Row;
            for token in cell.split_whitespace() {
                let text = token.trim_start_matches(['*', '_', '"', '\'', '“', '‘', '(', '[']);
                let head = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
                if begins && !head.is_empty() {
                    sentences.push(Head { line: line.number, word: head, is_question: false });
                }
                // Marks of lists and headings are before the sentence.
                begins = begins && head.is_empty() && !text.starts_with('`');
                let end = token.trim_end_matches(['*', '_', '"', '\'', '”', '’', ')', ']', '`']);
                if end.ends_with(['.', ':', '!', '?']) {
                    begins = true;
                    if let Some(last) = sentences.last_mut() {
                        last.is_question = end.ends_with('?');
                    }
                }
            }
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let complaints = find(&[File::new(path, text)]).into_iter().map(|finding| finding.complaint);
        complaints.map(|it| it.split(": ").next().unwrap_or_default().into()).collect()
    }

    #[test]
    fn each_word_is_found_at_the_head_of_a_sentence() {
        for word in HEADS {
            assert_eq!(lines("a.md", &format!("# A\n\n{word} is free lists.\n")), ["a.md:3"]);
            assert_eq!(
                lines("a.md", &format!("One. *{word}* is\nfree lists: {word} is free.\n")),
                ["a.md:1", "a.md:2"]
            );
            assert_eq!(
                lines("a.md", &format!("- a\n- **{word} is free.**\n\n| b | {word} is c |\n")),
                ["a.md:2", "a.md:4"]
            );
            assert_eq!(lines("a.rs", &format!("/// {word} is free.\n")), ["a.rs:1"]);
            assert_eq!(lines("a.go", &format!("x() // {word} is free.\n")), ["a.go:1"]);
            assert_eq!(lines("a.js", &format!("/**\n * {word} is free.\n */\n")), ["a.js:2"]);
            let docstring =
                format!("class A:\n    def f():\n        \"\"\"Lists.\n\n        {word} is free.\"\"\"\n");
            assert_eq!(lines("a.py", &docstring), ["a.py:5"]);
        }
    }

    #[test]
    fn questions_are_allowed_in_headings_and_tables_only() {
        assert!(lines("a.md", "## What is it waiting for?\n\n| What is it? | Who asks? |\n").is_empty());
        assert_eq!(lines("a.md", "## What it waits for\n\nWhat is it?\n"), ["a.md:1", "a.md:3"]);
    }

    #[test]
    fn words_inside_of_sentences_code_and_other_comments_are_let_through() {
        let text = "Says What\nWho did. `What is` this. Whatever: ok.\n\n```\nWhat is code.\n```\n";
        assert!(lines("a.md", text).is_empty(), "{:?}", lines("a.md", text));
        assert!(lines("a.rs", "// What is aside.\nlet a = \"What is text.\";\n").is_empty());
    }

    #[test]
    fn the_old_word_is_found_in_documents_and_documentation() {
        assert_eq!(lines("a.md", "It starts\nanew, and `anew` again.\n"), ["a.md:2"]);
        assert_eq!(lines("a.rs", "//! Anew.\n// anew\n"), ["a.rs:1"]);
    }
}
