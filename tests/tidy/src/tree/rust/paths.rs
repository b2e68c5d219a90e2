//! Paths from the root of a crate, or relative to a module.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{Attribute, Meta, Path, UseTree};

/// A path that begins with `crate`, `self` or `super`.
pub(super) struct Found {
    pub(super) line: usize,
    pub(super) parts: Vec<String>,
    pub(super) alias: Option<String>,
}

const STARTS: [&str; 3] = ["crate", "self", "super"];

/// The paths of a `use`; a glob ends with `*`.
///
/// Paths of other crates, and of child modules that are named without `self`, are included: in the root of a crate
/// they name its modules.
pub(super) fn of_use(tree: &UseTree) -> Vec<Found> {
    let mut found = Vec::new();
    flatten(tree, &mut Vec::new(), &mut found);
    found
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<Found>) {
    let mut add = |last: &Ident, alias: &Ident| {
        let mut parts = before.clone();
        parts.push(last.to_string());
        found.push(Found { line: last.span().start().line, parts, alias: Some(alias.to_string()) });
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) => add(&name.ident, &name.ident),
        UseTree::Rename(rename) => add(&rename.ident, &rename.rename),
        UseTree::Glob(glob) => {
            let mut parts = before.clone();
            parts.push("*".to_owned());
            found.push(Found { line: glob.star_token.spans[0].start().line, parts, alias: None });
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
    }
}

/// The path itself, if it has more than its start.
pub(super) fn of_path(path: &Path) -> Vec<Found> {
    let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
    let line = path.segments.first().map_or(0, |part| part.ident.span().start().line);
    let is_relative = parts.first().is_some_and(|first| STARTS.contains(&first.as_str()));
    let found = (is_relative && parts.len() > 1).then_some(Found { line, parts, alias: None });
    found.into_iter().collect()
}

/// The paths in an attribute, also in its strings: `#[serde(with = "crate::text")]`.
pub(super) fn of_attribute(attribute: &Attribute) -> Vec<Found> {
    match &attribute.meta {
        Meta::List(list) => of_tokens(&list.tokens),
        Meta::Path(_) | Meta::NameValue(_) => Vec::new(),
    }
}

/// The paths in the tokens of a macro.
pub(super) fn of_tokens(tokens: &TokenStream) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // Colons since the last part of a path that may go on.
    let mut colons = None;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(name) => {
                let text = name.to_string();
                let goes_on = colons == Some(2);
                if goes_on && let Some(path) = found.last_mut() {
                    path.parts.push(text);
                    colons = Some(0);
                } else if STARTS.contains(&text.as_str()) {
                    found.push(Found { line: name.span().start().line, parts: vec![text], alias: None });
                    colons = Some(0);
                } else {
                    colons = None;
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons = colons.map(|count| count + 1),
            TokenTree::Punct(_) => colons = None,
            TokenTree::Group(group) => {
                colons = None;
                found.extend(of_tokens(&group.stream()));
            }
            TokenTree::Literal(literal) => {
                colons = None;
                let text = literal.to_string();
                let path = text.trim_matches('"');
                if path.starts_with("crate::") {
                    let parts = path.split("::").map(str::to_owned).collect();
                    found.push(Found { line: literal.span().start().line, parts, alias: None });
                }
            }
        }
    }
    found.retain(|path| path.parts.len() > 1);
    found
}
