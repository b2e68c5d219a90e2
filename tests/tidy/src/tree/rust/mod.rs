//! The outline of a Rust file: its documentation, types, and the paths by which it names items of its crate.
//!
//! | module | what it does |
//! | --- | --- |
//! | `sources` | the sources of a crate or of an integration test, with their modules |
//! | `paths` | paths from the root of a crate, or relative to a module |

mod paths;
pub mod sources;

use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Expr, Ident, Item, ItemMod, Lit, Meta};

use super::File;

/// The parts of a file that checks of the layout and of documentation need.
#[derive(Debug, Default)]
pub struct Outline {
    /// The documentation of the file itself.
    pub head: String,
    /// The modules that the file declares, those inside of other items aside.
    pub modules: Vec<ChildModule>,
    pub docs: Vec<Doc>,
    pub types: Vec<TypeName>,
    pub paths: Vec<CratePath>,
    /// Child modules in files of their own that are for tests only.
    pub test_files: Vec<TestFile>,
}

/// A documentation comment, all of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    pub line: usize,
    pub text: String,
    /// A derive makes help, a schema or labels of it.
    pub is_output: bool,
}

/// The declaration of a struct, enum, union, trait or type alias, outside of functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    pub line: usize,
    pub name: String,
    pub is_test: bool,
    /// Modules inside of the file.
    pub inner: Vec<String>,
}

/// A path that begins with `crate`, `self` or `super`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CratePath {
    pub line: usize,
    pub parts: Vec<String>,
    pub is_test: bool,
    /// Modules inside of the file.
    pub inner: Vec<String>,
    /// The name that a `use` gives to it.
    pub alias: Option<String>,
}

/// The declaration of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildModule {
    pub line: usize,
    pub name: String,
    pub has_own_file: bool,
}

/// A module for tests in a file of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFile {
    pub inner: Vec<String>,
    pub name: String,
    /// The file that `#[path = "…"]` names.
    pub path: Option<String>,
}

/// Derives that make text for users of documentation.
const OUTPUT_DERIVES: [&str; 9] = [
    "Args", "CommandFactory", "CustomResource", "EncodeLabelSet", "EncodeLabelValue", "JsonSchema", "Parser",
    "Subcommand", "ValueEnum",
];

/// The outline of a file.
pub fn outline(file: &File) -> syn::Result<Outline> {
    let syntax = syn::parse_file(file.text.as_deref().unwrap_or_default())?;
    let mut reader = OutlineReader::default();
    reader.visit_file(&syntax);
    let head: Vec<String> = syntax.attrs.iter().filter_map(|it| name_value(it, "doc")).collect();
    let modules = syntax.items.iter().filter_map(child_module).collect();
    Ok(Outline { head: head.join("\n"), modules, ..reader.outline })
}

#[derive(Default)]
struct OutlineReader {
    outline: Outline,
    inner: Vec<String>,
    is_test: bool,
    is_output: bool,
    function_depth: usize,
    /// Style and last line of the documentation that a further line would belong to.
    last_doc: Option<(bool, usize)>,
}

impl<'ast> Visit<'ast> for OutlineReader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = attributes(item);
        let (was_test, was_output) = (self.is_test, self.is_output);
        self.is_test |= attributes.iter().any(is_for_tests);
        self.is_output = attributes.iter().any(has_output_derive);
        let name = match item {
            Item::Struct(it) => Some(&it.ident),
            Item::Enum(it) => Some(&it.ident),
            Item::Union(it) => Some(&it.ident),
            Item::Trait(it) => Some(&it.ident),
            Item::Type(it) => Some(&it.ident),
            _ => None,
        };
        if let Some(name) = name.filter(|_| self.function_depth == 0) {
            self.outline.types.push(TypeName {
                line: line(name),
                name: name.to_string(),
                is_test: self.is_test,
                inner: self.inner.clone(),
            });
        }
        visit::visit_item(self, item);
        (self.is_test, self.is_output) = (was_test, was_output);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        if module.content.is_none() && self.is_test {
            self.outline.test_files.push(TestFile {
                inner: self.inner.clone(),
                name: name.clone(),
                path: module.attrs.iter().find_map(|it| name_value(it, "path")),
            });
        }
        self.inner.push(name);
        visit::visit_item_mod(self, module);
        self.inner.pop();
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.function_depth += 1;
        visit::visit_block(self, block);
        self.function_depth -= 1;
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match name_value(attribute, "doc") {
            Some(text) => self.add_doc(attribute, &text),
            None => self.add_paths(paths::of_attribute(attribute)),
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for attribute in &item.attrs {
            self.visit_attribute(attribute);
        }
        self.add_paths(paths::of_use(&item.tree));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_paths(paths::of_path(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.add_paths(paths::of_tokens(&call.tokens));
    }

    /// `pub(in crate::a)` names an ancestor, and uses nothing of it.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

impl OutlineReader {
    fn add_doc(&mut self, attribute: &Attribute, text: &str) {
        let is_inner = matches!(attribute.style, AttrStyle::Inner(_));
        let span = attribute.pound_token.span;
        let (start, end) = (span.start().line, span.end().line);
        if self.last_doc == Some((is_inner, start - 1))
            && let Some(doc) = self.outline.docs.last_mut()
        {
            doc.text.push('\n');
            doc.text.push_str(text);
        } else {
            self.outline.docs.push(Doc { line: start, text: text.to_owned(), is_output: self.is_output });
        }
        self.last_doc = Some((is_inner, end));
    }

    fn add_paths(&mut self, found: Vec<paths::Found>) {
        let (is_test, inner) = (self.is_test, &self.inner);
        self.outline.paths.extend(found.into_iter().map(|paths::Found { line, parts, alias }| CratePath {
            line,
            parts,
            is_test,
            inner: inner.clone(),
            alias,
        }));
    }
}

fn child_module(item: &Item) -> Option<ChildModule> {
    let Item::Mod(module) = item else { return None };
    let name = module.ident.to_string();
    Some(ChildModule { line: line(&module.ident), name, has_own_file: module.content.is_none() })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::TraitAlias(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` and its like, but not `#[cfg(not(test))]`; also `#[test]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    match &attribute.meta {
        Meta::List(list) if attribute.path().is_ident("cfg") => {
            let text = list.tokens.to_string();
            crate::has_word(&text, "test") && !crate::has_word(&text, "not")
        }
        Meta::Path(_) | Meta::List(_) => last.is_some_and(|last| last.ident == "test"),
        Meta::NameValue(_) => false,
    }
}

fn has_output_derive(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let text = list.tokens.to_string();
    attribute.path().is_ident("derive") && OUTPUT_DERIVES.iter().any(|name| crate::has_word(&text, name))
}

/// The string of `#[name = "…"]`; a documentation comment is `#[doc = "…"]`.
fn name_value(attribute: &Attribute, name: &str) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    let Lit::Str(text) = &value.lit else { return None };
    pair.path.is_ident(name).then(|| text.value())
}

fn line(name: &Ident) -> usize {
    name.span().start().line
}

#[cfg(test)]
mod tests;
