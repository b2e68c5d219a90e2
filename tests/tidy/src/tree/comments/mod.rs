//! Comments and identifiers of a source file, from a scanner that knows the strings and comments of each language.

/// A language whose comments the scanner finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Go,
    /// JavaScript, and TypeScript too.
    Script,
    Python,
    /// WIT, whose files are contracts.
    Contract,
    /// YAML, TOML and Containerfiles: only comments on lines of their own.
    Settings,
}

impl Language {
    /// The language by the ending of a path; a template `x.go.in` is Go.
    pub fn of(path: &str) -> Option<Self> {
        let path = path.strip_suffix(".in").unwrap_or(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
        match ending {
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            "js" | "mjs" | "ts" => Some(Self::Script),
            "py" => Some(Self::Python),
            "wit" => Some(Self::Contract),
            "yaml" | "yml" | "toml" | "Containerfile" => Some(Self::Settings),
            _ => None,
        }
    }

    /// True for languages that programs are written in.
    pub fn is_code(self) -> bool {
        matches!(self, Self::Rust | Self::Go | Self::Script | Self::Python)
    }
}

/// One line of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'a> {
    pub line: usize,
    /// The text behind the marker.
    pub text: &'a str,
    /// The column of the last character.
    pub columns: usize,
    /// Documentation. Go, scripts and Python do not mark it, so that all of their comments count.
    pub is_doc: bool,
    /// No code precedes the comment on its line.
    pub is_alone: bool,
}

/// The comments and identifiers of a file, each with its line.
#[derive(Debug, Default)]
pub struct Scan<'a> {
    pub comments: Vec<Comment<'a>>,
    pub names: Vec<(usize, &'a str)>,
}

/// Scans a source file.
pub fn scan(language: Language, text: &str) -> Scan<'_> {
    if language == Language::Settings {
        return settings(text);
    }
    let mut scanner = Scanner {
        language,
        text,
        at: 0,
        line: 1,
        line_start: 0,
        last: b';',
        last_name: "",
        scan: Scan::default(),
    };
    scanner.code(None);
    scanner.scan
}

fn settings(text: &str) -> Scan<'_> {
    let mut scan = Scan::default();
    for (index, line) in text.lines().enumerate() {
        if let Some(comment) = line.trim_start().strip_prefix('#').filter(|rest| !rest.starts_with('!')) {
            scan.comments.push(Comment {
                line: index + 1,
                text: comment.trim_start_matches('#'),
                columns: line.trim_end().chars().count(),
                is_doc: false,
                is_alone: true,
            });
        }
    }
    scan
}

struct Scanner<'a> {
    language: Language,
    text: &'a str,
    at: usize,
    line: usize,
    line_start: usize,
    /// The last byte of code that is not a space, to tell a regular expression from a division.
    last: u8,
    last_name: &'a str,
    scan: Scan<'a>,
}

impl<'a> Scanner<'a> {
    /// Scans code up to the end, or up to the brace that closes an expression in a template string.
    fn code(&mut self, close: Option<u8>) {
        let mut depth = 0;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => self.newline(),
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'#' if self.language == Language::Python => self.line_comment(1, true),
                b'/' if self.has_slashes() && self.peek(1) == Some(b'/') => self.slashes(),
                b'/' if self.has_slashes() && self.peek(1) == Some(b'*') => self.block_comment(),
                b'/' if self.language == Language::Script && self.may_begin_expression() => self.regex(),
                b'"' => self.string(byte),
                b'\'' if self.language == Language::Rust => self.quote(),
                b'\'' if self.language != Language::Contract => self.string(byte),
                b'`' if self.language == Language::Go => self.raw_string("`"),
                b'`' if self.language == Language::Script => self.template(),
                b'0'..=b'9' => self.number(),
                _ if is_of_name(byte) => self.name(),
                _ => {
                    if Some(byte) == close && depth == 0 {
                        self.at += 1;
                        return;
                    }
                    match byte {
                        b'{' => depth += 1,
                        b'}' => depth -= 1,
                        _ => {}
                    }
                    self.last = byte;
                    self.at += 1;
                }
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn has_slashes(&self) -> bool {
        self.language != Language::Python
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
    }

    /// Skips `length` bytes of a string or comment, and counts the lines.
    fn skip(&mut self, length: usize) {
        let end = (self.at + length).min(self.text.len());
        while self.at < end {
            if self.peek(0) == Some(b'\n') {
                self.newline();
            } else {
                self.at += 1;
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn is_alone(&self) -> bool {
        self.text.get(self.line_start..self.at).is_some_and(|before| before.trim().is_empty())
    }

    fn slashes(&mut self) {
        let rest = self.rest();
        let is_marked = match self.language {
            Language::Rust => {
                (rest.starts_with("///") && !rest.starts_with("////")) || rest.starts_with("//!")
            }
            Language::Contract => rest.starts_with("///"),
            Language::Go | Language::Script | Language::Python | Language::Settings => false,
        };
        let marker = if is_marked { 3 } else { 2 };
        let is_doc = is_marked || matches!(self.language, Language::Go | Language::Script);
        self.line_comment(marker, is_doc);
    }

    fn line_comment(&mut self, marker: usize, is_doc: bool) {
        let is_alone = self.is_alone();
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        let text = self.rest().get(marker..length).unwrap_or_default();
        self.at += length;
        self.comment(text, is_doc, is_alone);
    }

    /// Records a line of a comment that ends here.
    fn comment(&mut self, text: &'a str, is_doc: bool, is_alone: bool) {
        let line = self.text.get(self.line_start..self.at).unwrap_or_default();
        let columns = line.trim_end().chars().count();
        self.scan.comments.push(Comment {
            line: self.line,
            text: text.trim_end(),
            columns,
            is_doc,
            is_alone,
        });
    }

    fn block_comment(&mut self) {
        let rest = self.rest();
        let is_marked = rest.starts_with("/**") || rest.starts_with("/*!");
        let is_doc = match self.language {
            Language::Rust | Language::Contract => is_marked,
            Language::Go | Language::Script | Language::Python | Language::Settings => true,
        };
        let marker = if is_marked { 3 } else { 2 };
        let length = if self.language == Language::Rust {
            nested_length(rest)
        } else {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        };
        let is_alone = self.is_alone();
        let end = self.at + length;
        let marker = marker.min(length);
        let inner = rest.get(marker..length).unwrap_or_default();
        self.at += marker;
        self.lines(inner.strip_suffix("*/").unwrap_or(inner), is_doc, is_alone);
        self.at = end;
    }

    /// Records each line of a block comment or docstring that begins here.
    fn lines(&mut self, inner: &'a str, is_doc: bool, is_alone: bool) {
        let first = self.text.get(self.line_start..).unwrap_or_default();
        let indent = first.len() - first.trim_start_matches(' ').len();
        for (index, line) in inner.split('\n').enumerate() {
            if index > 0 {
                self.newline();
            }
            self.at += line.len();
            let indented = line.len() - line.trim_start_matches(' ').len();
            let text = line.get(indent.min(indented)..).unwrap_or_default();
            let text = text.trim_start().strip_prefix('*').filter(|_| index > 0).unwrap_or(text);
            self.comment(text, is_doc, is_alone || index > 0);
        }
    }

    /// A character, or a lifetime.
    fn quote(&mut self) {
        let mut after = self.rest().chars().skip(1);
        let (first, second) = (after.next(), after.next());
        if first == Some('\\') {
            self.string(b'\'');
        } else if second == Some('\'') {
            self.skip(2 + first.map_or(0, char::len_utf8));
        } else {
            self.at += 1;
        }
        self.last = b'\'';
    }

    fn string(&mut self, quote: u8) {
        if self.language == Language::Python {
            let triple = if quote == b'"' { "\"\"\"" } else { "'''" };
            if self.rest().starts_with(triple) {
                return self.triple(triple);
            }
        }
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.skip(2),
                _ if byte == quote => {
                    self.at += 1;
                    break;
                }
                _ => self.skip(1),
            }
        }
        self.last = quote;
    }

    /// A string of Python in triple quotes: at the beginning of a line it is documentation.
    fn triple(&mut self, quotes: &str) {
        let is_doc = self.is_alone();
        self.at += quotes.len();
        let length = self.rest().find(quotes).unwrap_or(self.rest().len());
        if is_doc {
            let inner = self.rest().get(..length).unwrap_or_default();
            self.lines(inner, true, true);
        } else {
            self.skip(length);
        }
        self.at = (self.at + quotes.len()).min(self.text.len());
        self.last = b'"';
    }

    /// A string that ends at the first `end`, whatever precedes it.
    fn raw_string(&mut self, end: &str) {
        self.at += 1;
        let length = self.rest().find(end).map_or(self.rest().len(), |at| at + end.len());
        self.skip(length);
        self.last = b'"';
    }

    fn template(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.skip(2),
                b'`' => {
                    self.at += 1;
                    break;
                }
                b'$' if self.peek(1) == Some(b'{') => {
                    self.at += 2;
                    self.last = b'{';
                    self.code(Some(b'}'));
                }
                _ => self.skip(1),
            }
        }
        self.last = b'`';
    }

    fn may_begin_expression(&self) -> bool {
        let after_word = is_of_name(self.last)
            && matches!(self.last_name, "return" | "typeof" | "case" | "in" | "of" | "await" | "yield");
        after_word
            || !(is_of_name(self.last) || matches!(self.last, b')' | b']' | b'}' | b'"' | b'\'' | b'`'))
    }

    fn regex(&mut self) {
        self.at += 1;
        let mut in_class = false;
        while let Some(byte) = self.peek(0).filter(|byte| *byte != b'\n') {
            match byte {
                b'\\' => self.at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = (self.at + 1).min(self.text.len());
        self.last = b'"';
    }

    fn number(&mut self) {
        while self.peek(0).is_some_and(is_of_name) {
            self.at += 1;
        }
        self.last = b'0';
    }

    fn name(&mut self) {
        let length = self.rest().bytes().position(|byte| !is_of_name(byte)).unwrap_or(self.rest().len());
        let name = self.rest().get(..length).unwrap_or_default();
        self.at += length;
        self.last = b'a';
        if self.language == Language::Rust && matches!(name, "r" | "br" | "cr") && self.raw_rust_string() {
            return;
        }
        self.last_name = name;
        let is_prefix = matches!(self.peek(0), Some(b'"' | b'\'')) && name.len() <= 2;
        if !(is_prefix && matches!(self.language, Language::Rust | Language::Python)) {
            self.scan.names.push((self.line, name));
        }
    }

    /// Skips the hashes and quotes of a raw string; false if none begins here.
    fn raw_rust_string(&mut self) -> bool {
        let hashes = self.rest().bytes().take_while(|byte| *byte == b'#').count();
        if self.peek(hashes) != Some(b'"') {
            return false;
        }
        self.at += hashes;
        let end = format!("\"{}", "#".repeat(hashes));
        self.raw_string(&end);
        true
    }
}

/// The length of a comment with comments inside.
fn nested_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            Some(_) | None => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests;
