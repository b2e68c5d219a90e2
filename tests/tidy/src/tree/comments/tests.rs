use super::*;

/// The comments as `line:text`, with `!` before documentation and `+` before comments behind code.
fn comments(language: Language, text: &str) -> Vec<String> {
    let scan = scan(language, text);
    let mark = |comment: &Comment<'_>| match (comment.is_doc, comment.is_alone) {
        (true, true) => "!",
        (false, true) => "",
        (_, false) => "+",
    };
    scan.comments.iter().map(|it| format!("{}:{}{}", it.line, mark(it), it.text.trim())).collect()
}

fn names(language: Language, text: &str) -> Vec<&str> {
    scan(language, text).names.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn rust_has_three_kinds_of_line_comments_and_nested_blocks() {
    let text = "//! a\n// b\n/// c\n//// d\nlet x = 1; // e\n/* f /* g */ h */ let y; /** i\n * j\n */\n";
    let found = comments(Language::Rust, text);
    assert_eq!(found, ["1:!a", "2:b", "3:!c", "4:// d", "5:+e", "6:f /* g */ h", "6:+i", "7:!j", "8:!"]);
}

#[test]
fn strings_and_characters_of_rust_hold_no_comments() {
    let text = "let a = \"// \\\" x\"; let b = r#\"// \"x\"#; let c = ['\"', '\\'', '/']; fn f<'a>(x: &'a str) {} // end";
    assert_eq!(comments(Language::Rust, text), ["1:+end"]);
    assert_eq!(comments(Language::Rust, "let a = b\"//\"; let b = br\"\\\"; // end"), ["1:+end"]);
    assert_eq!(comments(Language::Rust, "let a = \"x\n// y\n\"; // end"), ["3:+end"]);
}

#[test]
fn names_of_rust_are_without_strings_numbers_and_comments() {
    let text = "fn r#type(a: u8) -> &'static str { b\"x y\"; 0xff_u8; let rest = r\"z\"; rest } // no";
    assert_eq!(
        names(Language::Rust, text),
        ["fn", "r", "type", "a", "u8", "static", "str", "let", "rest", "rest"]
    );
}

#[test]
fn go_has_raw_strings() {
    assert_eq!(
        comments(Language::Go, "a := `// \\` // b\nc := '\"' // d\n/* e */\n"),
        ["1:+b", "2:+d", "3:!e"]
    );
}

#[test]
fn scripts_have_templates_and_regular_expressions() {
    let text = "const a = `x ${b ? `//` : \"}\"} // y`; // c\nconst d = /[/'\"]\\//.test(e) / 2; // f\n/** g\n * h */\n";
    assert_eq!(comments(Language::Script, text), ["1:+c", "2:+f", "3:!g", "4:!h"]);
}

#[test]
fn python_has_docstrings() {
    let text = "\"\"\"Says a.\n\n    And b.\n\"\"\"\nx = \"\"\"# no\n\"\"\"  # c\ny = f'#'  # d\n";
    assert_eq!(comments(Language::Python, text), ["1:!Says a.", "2:!", "3:!And b.", "4:!", "6:+c", "7:+d"]);
}

#[test]
fn settings_have_comments_on_lines_of_their_own() {
    assert_eq!(comments(Language::Settings, "#!/bin/sh\n# a\nb: c # d\n  ## e\n"), ["2:a", "4:e"]);
}

#[test]
fn the_column_is_that_of_the_last_character() {
    let scan = scan(Language::Rust, "let x; // ü→\n");
    assert_eq!(scan.comments[0].columns, "let x; // ü→".chars().count());
}

#[test]
fn the_language_of_a_template_is_that_of_its_result() {
    assert_eq!(Language::of("a/b.go.in"), Some(Language::Go));
    assert_eq!(Language::of("deploy/Containerfile"), Some(Language::Settings));
    assert_eq!(Language::of("a.json"), None);
}
