//! The prose of documents and comments, in blocks as Markdown has them.

use super::File;
use super::comments::{Language, scan};

/// Where a block of prose is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Document,
    /// A comment that documents code.
    Doc,
    Comment,
}

/// The form of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Heading,
    /// One row of a table.
    Row,
}

/// A paragraph, an item of a list, a heading or a row of a table. Code blocks, HTML comments and definitions of links
/// are no prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'a> {
    pub origin: Origin,
    pub form: Form,
    pub lines: Vec<Line<'a>>,
}

/// A line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub number: usize,
    /// The text without the marker of a comment.
    pub text: &'a str,
    /// How long the line is in the file, in characters.
    pub columns: usize,
}

/// A word of a block, with the number of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    pub line: usize,
    pub text: &'a str,
}

/// All prose of a file; none for files that are neither documents nor sources.
pub fn blocks(file: &File) -> Vec<Block<'_>> {
    if is_document(&file.path) {
        let lines = file.lines();
        return of_lines(
            Origin::Document,
            lines.map(|(number, text)| Line { number, text, columns: text.chars().count() }),
        );
    }
    let (Some(language), Some(text)) = (Language::of(&file.path), file.text.as_deref()) else {
        return Vec::new();
    };
    let comments = scan(language, text).comments;
    let runs =
        comments.chunk_by(|a, b| a.is_alone && b.is_alone && a.is_doc == b.is_doc && b.line == a.line + 1);
    runs.flat_map(|run| {
        let origin = if run.iter().any(|comment| comment.is_doc) { Origin::Doc } else { Origin::Comment };
        of_lines(origin, run.iter().map(|it| Line { number: it.line, text: it.text, columns: it.columns }))
    })
    .collect()
}

/// True for Markdown, and for templates of it.
pub fn is_document(path: &str) -> bool {
    path.strip_suffix(".in").unwrap_or(path).ends_with(".md")
}

fn of_lines<'a>(origin: Origin, lines: impl Iterator<Item = Line<'a>>) -> Vec<Block<'a>> {
    let mut reader = BlockReader {
        origin,
        fence: None,
        in_html: false,
        in_list: false,
        is_open: false,
        blocks: Vec::new(),
    };
    for line in lines {
        reader.read(line);
    }
    reader.blocks
}

struct BlockReader<'a> {
    origin: Origin,
    /// The fence of the code block that the line is in.
    fence: Option<&'a str>,
    in_html: bool,
    in_list: bool,
    /// The last block goes on.
    is_open: bool,
    blocks: Vec<Block<'a>>,
}

impl<'a> BlockReader<'a> {
    fn read(&mut self, line: Line<'a>) {
        let text = line.text.trim();
        if let Some(fence) = self.fence {
            if text.starts_with(fence) && text.trim_start_matches(fence).is_empty() {
                self.fence = None;
            }
            return;
        }
        if self.in_html {
            self.in_html = !text.contains("-->");
            return;
        }
        if let Some(fence) = fence(text) {
            self.is_open = false;
            self.fence = Some(fence);
        } else if text.starts_with("<!--") {
            self.is_open = false;
            self.in_html = !text.contains("-->");
        } else if text.is_empty() || is_definition(text) {
            self.is_open = false;
        } else if text.starts_with('|') {
            self.add(Form::Row, line);
            self.is_open = false;
        } else if is_heading(text) {
            self.add(Form::Heading, line);
            self.is_open = false;
        } else if self.is_open && !begins_item(text) {
            if let Some(block) = self.blocks.last_mut() {
                block.lines.push(line);
            }
        } else if self.in_list || !line.text.starts_with(self.code_indent()) {
            self.in_list = begins_item(text) || (self.in_list && line.text.starts_with(' '));
            self.add(Form::Text, line);
            self.is_open = true;
        }
    }

    /// The indentation of code; the text of a comment begins with a space.
    fn code_indent(&self) -> &'static str {
        if self.origin == Origin::Document { "    " } else { "     " }
    }

    fn add(&mut self, form: Form, line: Line<'a>) {
        self.blocks.push(Block { origin: self.origin, form, lines: vec![line] });
    }
}

fn fence(text: &str) -> Option<&str> {
    let length = |c: char| text.len() - text.trim_start_matches(c).len();
    let length = length('`').max(length('~'));
    (length >= 3).then(|| text.get(..length))?
}

/// True for `[name]: target`, to which links refer.
fn is_definition(text: &str) -> bool {
    let target = text.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    target.is_some_and(|(name, target)| !name.contains(']') && !target.trim().contains(' '))
}

fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    rest.len() < text.len() && rest.starts_with(' ')
}

/// True after `- `, `* `, `+ `, `1. ` or `> `.
fn begins_item(text: &str) -> bool {
    let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    ["- ", "* ", "+ ", "> "].iter().any(|marker| text.starts_with(marker))
        || (numbered.len() < text.len() && (numbered.starts_with(". ") || numbered.starts_with(") ")))
}

impl<'a> Block<'a> {
    /// Its words in order, without code in backticks, targets of links, and URLs.
    pub fn words(&self) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        let mut code = None;
        for line in &self.lines {
            for part in prose_parts(line.text, &mut code) {
                for token in part.split_whitespace().filter(|token| !token.contains("://")) {
                    let parts = token.split(|c: char| !c.is_alphanumeric()).filter(|text| !text.is_empty());
                    words.extend(parts.map(|text| Word { line: line.number, text }));
                }
            }
        }
        words
    }
}

/// A line without targets of links, and without code: `code` is the number of backticks that opened it, maybe on a line
/// before.
fn prose_parts<'a>(line: &'a str, code: &mut Option<usize>) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let at = rest.find('`').unwrap_or(rest.len());
        let (part, from_ticks) = rest.split_at(at);
        if code.is_none() {
            let mut links = part.split("](");
            parts.extend(links.next());
            parts.extend(links.map(|link| link.split_once(')').map_or("", |(_, after)| after)));
        }
        rest = from_ticks.trim_start_matches('`');
        let ticks = from_ticks.len() - rest.len();
        match *code {
            None if ticks > 0 => *code = Some(ticks),
            Some(open) if open == ticks => *code = None,
            None | Some(_) => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests;
