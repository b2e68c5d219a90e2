use super::*;

/// The edges of circles, for sources below `a/src`.
fn edges(sources: &[(&str, &str)]) -> Vec<String> {
    let sources = sources.iter().map(|(path, text)| File::new(&format!("a/src/{path}"), text));
    let files: Vec<File> = [File::new("a/Cargo.toml", "")].into_iter().chain(sources).collect();
    find(&files).into_iter().map(|finding| finding.item).collect()
}

#[test]
fn two_modules_that_use_each_other_are_found_by_every_kind_of_path() {
    let forth = ("b.rs", "use crate::c::C;");
    for (path, text) in [
        ("c.rs", "use crate::b::B;"),
        ("c.rs", "use super::b::{B as A};"),
        ("c.rs", "use crate::{b, d};"),
        ("c.rs", "fn f() -> super::b::B { new(crate::d::D) }"),
        ("c.rs", "fn f() { assert_eq!(crate::b::B, 1) }"),
        ("c.rs", "mod inner { use super::super::b::B; }"),
        ("c/d/mod.rs", "use super::super::b::B;"),
        ("c/mod.rs", "#[serde(with = \"crate::b::text\")] struct S;"),
    ] {
        assert_eq!(edges(&[forth, (path, text)]), ["a b -> c", "a c -> b"], "{path}: {text}");
    }
}

#[test]
fn a_circle_over_others_is_found_and_says_its_way() {
    let sources = [
        File::new("a/Cargo.toml", ""),
        File::new("a/src/b.rs", "use crate::c::C;"),
        File::new("a/src/c.rs", "use crate::d::{D, E};\nuse crate::f::F;"),
        File::new("a/src/d.rs", "\nuse crate::b::B;"),
        File::new("a/src/f.rs", ""),
    ];
    let found = find(&sources);
    let items: Vec<&str> = found.iter().map(|finding| finding.item.as_str()).collect();
    assert_eq!(items, ["a b -> c", "a c -> d", "a c -> d", "a d -> b"]);
    let expected = "a/src/d.rs:2: d uses b::B in the circle d → b → c → d: ";
    assert!(found[3].complaint.starts_with(expected), "{}", found[3].complaint);
}

#[test]
fn a_name_that_the_root_exports_is_of_its_module() {
    let sources = [
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::{B, Own};"),
        ("lib.rs", "mod b;\nmod c;\npub use b::B;\nuse c::Other;\nstruct Own;"),
    ];
    assert_eq!(edges(&sources), ["a b -> c", "a c -> b"]);
}

#[test]
fn tests_comments_own_paths_and_other_crates_are_let_through() {
    let sources = [
        ("b.rs", "//! See crate::c.\nuse c::C; use crate::b::inner::B; use super::*; use self::inner::D;"),
        ("b/tests.rs", "use crate::c::C;"),
        ("c.rs", "use crate::b::B;\n#[cfg(test)] mod tests { use crate::b::B; }"),
        ("d.rs", "#[cfg(test)]\nmod tests;\npub(in crate::d) struct D;"),
        ("d/tests.rs", "use crate::c::C;"),
        ("e.rs", "use crate::d::D;"),
        ("lib.rs", "use b::B; use crate::c::C;"),
    ];
    let with_module = sources
        .map(|(path, text)| if path == "b.rs" { (path, "#[cfg(test)] mod tests;") } else { (path, text) });
    assert!(edges(&sources[..1]).is_empty());
    assert!(edges(&with_module).is_empty(), "{:?}", edges(&with_module));
}
