use super::*;

fn outline_of(text: &str) -> Outline {
    outline(&File::new("a.rs", text)).unwrap()
}

#[test]
fn documentation_is_joined_by_comment_and_knows_its_derive() {
    let text = "//! File.\n/// A\n/// b.\n#[derive(Debug, clap::Args)]\nstruct A {\n    /// C.\n    c: u8,\n}\n\
                enum D {\n    /// E.\n    E,\n    /// F.\n    F,\n}\nfn f() {\n    // no\n}\n/** g */\nfn g() {}\n";
    let docs = outline_of(text).docs;
    let found: Vec<(usize, &str, bool)> =
        docs.iter().map(|doc| (doc.line, doc.text.trim(), doc.is_output)).collect();
    let expected = [
        (1, "File.", false),
        (2, "A\n b.", true),
        (6, "C.", true),
        (10, "E.", false),
        (12, "F.", false),
        (18, "g", false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn types_are_found_outside_of_functions_and_know_tests() {
    let text = "struct A; enum B {} trait C { type No; } type D = u8;\nfn f() { struct No; }\n\
                mod inner { union E { a: u8 } }\n#[cfg(test)] mod tests { struct F; }\n#[cfg(not(test))] struct G;\n";
    let types = outline_of(text).types;
    let found: Vec<String> = types
        .iter()
        .map(|it| format!("{}{}{}", it.inner.concat(), it.name, if it.is_test { "!" } else { "" }))
        .collect();
    assert_eq!(found, ["A", "B", "C", "D", "innerE", "testsF!", "G"]);
}

#[test]
fn paths_are_found_in_uses_code_macros_and_attributes() {
    let text = "use crate::{a::B, c::{self, D as E}, f::*};\nuse std::fmt;\n#[serde(with = \"crate::g::h\")]\nstruct S;\n\
                fn f(x: super::i::J) { assert!(crate::k::L::new(x) == self::m()); crate::n::o(); }\n\
                pub(in crate::p) struct P;\n/// See crate::q.\nfn q(self) {}\n";
    let paths = outline_of(text).paths;
    let found: Vec<String> =
        paths.iter().map(|path| format!("{}:{}", path.line, path.parts.join("::"))).collect();
    let expected = [
        "1:crate::a::B", "1:crate::c::self", "1:crate::c::D", "1:crate::f::*", "2:std::fmt", "3:crate::g::h",
        "5:super::i::J", "5:crate::k::L::new", "5:self::m", "5:crate::n::o",
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_head_and_the_modules_of_a_file_are_found() {
    let text = "//! A.\n//!\n//! `b`\n#![no_std]\npub mod b;\nmod c {\n    mod d;\n}\n/// E.\n#[cfg(test)]\nmod e;\n";
    let outline = outline_of(text);
    assert_eq!(outline.head, " A.\n\n `b`");
    let found: Vec<(usize, &str, bool)> =
        outline.modules.iter().map(|it| (it.line, it.name.as_str(), it.has_own_file)).collect();
    assert_eq!(found, [(5, "b", true), (6, "c", false), (11, "e", true)]);
}

#[test]
fn files_of_tests_are_found() {
    let text = "#[cfg(test)]\nmod tests;\nmod a;\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod b;\n";
    let found = outline_of(text).test_files;
    let names: Vec<(&str, Option<&str>)> =
        found.iter().map(|it| (it.name.as_str(), it.path.as_deref())).collect();
    assert_eq!(names, [("tests", None), ("b", Some("b_tests.rs"))]);
}

#[test]
fn a_file_that_is_no_rust_is_an_error() {
    assert!(outline(&File::new("a.rs", "fn (")).is_err());
}
