use super::*;

/// Each block as its form, its lines and its text.
fn found(path: &str, text: &str) -> Vec<String> {
    let show = |block: &Block<'_>| {
        let numbers: Vec<String> = block.lines.iter().map(|line| line.number.to_string()).collect();
        let texts: Vec<&str> = block.lines.iter().map(|line| line.text.trim()).collect();
        format!("{:?} {:?} {}: {}", block.origin, block.form, numbers.join(","), texts.join(" "))
    };
    blocks(&File::new(path, text)).iter().map(show).collect()
}

#[test]
fn documents_have_headings_paragraphs_items_and_rows() {
    let text = "# A\nb\nc\n- d\n  e\n- f\n\n| g | h |\n| i | j |\n1. k\n";
    let expected = [
        "Document Heading 1: # A", "Document Text 2,3: b c", "Document Text 4,5: - d e",
        "Document Text 6: - f", "Document Row 8: | g | h |", "Document Row 9: | i | j |",
        "Document Text 10: 1. k",
    ];
    assert_eq!(found("a.md", text), expected);
    assert_eq!(found("a.md.in", text), expected);
}

#[test]
fn code_html_and_definitions_are_no_prose() {
    let text = "a\n```sh\nb\n```\n    c\n\n<!-- d\ne -->\n[f]: https://example.org\n````\n```\ng\n````\nh\n";
    assert_eq!(found("a.md", text), ["Document Text 1: a", "Document Text 14: h"]);
}

#[test]
fn comments_are_prose_by_runs() {
    let text = "//! a\n//! b\n\n/// c\n/// ```\n/// d\n/// ```\nfn e() {} // f\n// g\n// h\n";
    let expected = ["Doc Text 1,2: a b", "Doc Text 4: c", "Comment Text 8: f", "Comment Text 9,10: g h"];
    assert_eq!(found("a.rs", text), expected);
}

#[test]
fn words_are_without_code_and_targets() {
    let text = "An `in code\ngone` [linked](a/path.md) word, see https://example.org/x or ``a ` b``: it's half-done.\n";
    let file = File::new("a.md", text);
    let blocks = blocks(&file);
    let words: Vec<(usize, &str)> = blocks[0].words().iter().map(|word| (word.line, word.text)).collect();
    let second = ["linked", "word", "see", "or", "it", "s", "half", "done"].map(|word| (2, word));
    assert_eq!(words, [&[(1, "An")][..], &second].concat());
}
