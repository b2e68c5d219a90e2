//! Words of our own, where the field has one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::not_yet::Finding;
use crate::tree::comments::{Language, scan};
use crate::tree::packages::home;
use crate::tree::prose::blocks;
use crate::tree::{File, written};

/// The table: a word or several, where it is looked for, and the words to write.
const TABLE: &str = "tests/tidy/private-words.txt";

/// Words before the name of a type.
const TYPES: [&str; 7] = ["class", "enum", "interface", "struct", "trait", "type", "union"];

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row<'a> {
    words: Vec<String>,
    scopes: BTreeSet<Scope>,
    instead: &'a str,
}

/// A kind of text that a word is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// Parts of identifiers, split at underscores and capitals.
    Names,
    /// Whole names of types where they are declared, which is after a word such as `struct`.
    Types,
    /// Names of files and folders of sources.
    Modules,
    /// Documents and comments, code in them aside.
    Text,
}

/// Sources and documents have none of the words where the table forbids them.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let table = files.iter().find(|file| file.path == TABLE);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (number, line) in table.into_iter().flat_map(File::lines) {
        match row(line) {
            Some(row) => rows.push(row),
            None if line.is_empty() || line.starts_with('#') => {}
            None => {
                findings.push(Finding::one(TABLE, format!("{TABLE}:{number}: no row of the table: {line}")));
            }
        }
    }
    let rows = Rows::of(&rows);
    for file in written(files) {
        for Hit { line, found, row } in rows.hits(file) {
            let words = row.words.join(" ");
            findings.push(Finding::one(
                format!("{} {words}", home(files, &file.path)),
                format!(
                    "{}:{line}: {found} has the private word \"{words}\": write {}",
                    file.path, row.instead
                ),
            ));
        }
    }
    findings
}

/// Reads `words | scope, scope | words to write`.
fn row(line: &str) -> Option<Row<'_>> {
    let mut cells = line.split('|').map(str::trim);
    let (words, scopes, instead) = (cells.next()?, cells.next()?, cells.next()?);
    let scopes = scopes.split(", ").map(|scope| match scope {
        "names" => Some(Scope::Names),
        "types" => Some(Scope::Types),
        "modules" => Some(Scope::Modules),
        "text" => Some(Scope::Text),
        _ => None,
    });
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let is_whole =
        !line.starts_with('#') && !words.is_empty() && !instead.is_empty() && cells.next().is_none();
    Some(Row { words, scopes: scopes.collect::<Option<_>>()?, instead }).filter(|_| is_whole)
}

/// The rows by their first words.
struct Rows<'a> {
    by_first: BTreeMap<&'a str, Vec<&'a Row<'a>>>,
}

struct Hit<'a> {
    line: usize,
    found: String,
    row: &'a Row<'a>,
}

impl<'a> Rows<'a> {
    fn of(rows: &'a [Row<'a>]) -> Self {
        let mut by_first: BTreeMap<&str, Vec<&Row<'_>>> = BTreeMap::new();
        for row in rows {
            by_first.entry(row.words[0].as_str()).or_default().push(row);
        }
        Self { by_first }
    }

    fn hits(&self, file: &File) -> Vec<Hit<'a>> {
        let mut hits = self.of_text(file);
        if let (Some(language), Some(text)) = (Language::of(&file.path), &file.text)
            && language.is_code()
        {
            hits.extend(self.of_names(language, text));
            hits.extend(self.of_modules(&file.path));
        }
        hits
    }

    /// The rows whose words begin a sequence of words.
    fn at(&self, words: &[String], scope: Scope) -> impl Iterator<Item = &'a Row<'a>> {
        let rows = words.first().and_then(|first| self.by_first.get(first.as_str())).into_iter().flatten();
        rows.filter(move |row| row.scopes.contains(&scope) && words.starts_with(&row.words)).copied()
    }

    fn of_text(&self, file: &File) -> Vec<Hit<'a>> {
        let mut hits = Vec::new();
        for block in blocks(file) {
            let words = block.words();
            let lower: Vec<String> = words.iter().map(|word| word.text.to_lowercase()).collect();
            for (index, word) in words.iter().enumerate() {
                let rows = self.at(&lower[index..], Scope::Text);
                hits.extend(rows.map(|row| Hit { line: word.line, found: "the text".to_owned(), row }));
            }
        }
        hits
    }

    fn of_names(&self, language: Language, text: &str) -> Vec<Hit<'a>> {
        let mut hits = Vec::new();
        let mut before = "";
        let mut known: HashMap<&str, Vec<&'a Row<'a>>> = HashMap::new();
        for (line, name) in scan(language, text).names {
            let rows = known.entry(name).or_insert_with(|| {
                let parts = parts(name);
                (0..parts.len()).flat_map(|index| self.at(&parts[index..], Scope::Names)).collect()
            });
            hits.extend(rows.iter().map(|row| Hit { line, found: name.to_owned(), row }));
            if TYPES.contains(&before) {
                hits.extend(self.of_type(name).map(|row| Hit { line, found: format!("type {name}"), row }));
            }
            before = name;
        }
        hits
    }

    fn of_type(&self, name: &str) -> impl Iterator<Item = &'a Row<'a>> {
        let rows = self.by_first.get(name).into_iter().flatten().copied();
        rows.filter(|row| row.scopes.contains(&Scope::Types) && row.words.len() == 1)
    }

    fn of_modules(&self, path: &str) -> Vec<Hit<'a>> {
        let name = path.rsplit('/').find(|part| !part.starts_with("mod.")).unwrap_or_default();
        let words = parts(name.split('.').next().unwrap_or_default());
        let rows = self.at(&words, Scope::Modules).filter(|row| row.words.len() == words.len());
        rows.map(|row| Hit { line: 1, found: format!("the name of {name}"), row }).collect()
    }
}

/// The words of an identifier, in lower case.
fn parts(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut parts: Vec<String> = Vec::new();
    for (index, c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            continue;
        }
        let before = index.checked_sub(1).map(|index| chars[index]);
        let ends_capitals = c.is_uppercase() && chars.get(index + 1).is_some_and(|next| next.is_lowercase());
        let begins = match before {
            Some(before) if before.is_alphanumeric() => {
                c.is_uppercase() && (!before.is_uppercase() || ends_capitals)
            }
            Some(_) | None => true,
        };
        if begins {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(c.to_lowercase());
        }
    }
    parts
}

#[cfg(test)]
mod tests;
