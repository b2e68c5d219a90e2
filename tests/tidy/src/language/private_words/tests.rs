use super::*;

/// Items and places of what is found in a file, with a table of a few words.
fn found(path: &str, text: &str) -> Vec<String> {
    let table = "# words\n\nshelf | names, text | catalog\nHeld | types | its meaning\nheard | modules | facts\n\
                 in vain | text | without success\nstand back | names | low priority\n";
    let files = [File::new("host/core/Cargo.toml", ""), File::new(path, text), File::new(TABLE, table)];
    let show =
        |it: Finding| format!("{} @ {}", it.item, it.complaint.split(" has ").next().unwrap_or_default());
    find(&files).into_iter().map(show).collect()
}

#[test]
fn parts_of_identifiers_are_found() {
    let text = "struct PluginShelf;\nfn is_shelf() { HTTP_SHELF; shelving; \"shelf\"; SHELFLife }\nlet stand_back = standBack();";
    let expected = [
        "host/core shelf @ host/core/src/a.rs:1: PluginShelf",
        "host/core shelf @ host/core/src/a.rs:2: is_shelf",
        "host/core shelf @ host/core/src/a.rs:2: HTTP_SHELF",
        "host/core shelf @ host/core/src/a.rs:2: SHELFLife",
        "host/core stand back @ host/core/src/a.rs:3: stand_back",
        "host/core stand back @ host/core/src/a.rs:3: standBack",
    ];
    assert_eq!(found("host/core/src/a.rs", text), expected);
}

#[test]
fn other_languages_have_identifiers_too() {
    assert_eq!(found("sdk/js/a.js", "const theShelf = 'shelf';").len(), 1);
    assert_eq!(found("sdk/a.py", "the_shelf = 'shelf'").len(), 1);
    assert_eq!(found("sdk/a.go", "theShelf := `shelf`").len(), 1);
    assert!(found("a.json", "{ \"shelf\": 1 }").is_empty());
}

#[test]
fn words_of_documents_and_comments_are_found_over_the_end_of_a_line() {
    let text = "The Shelf asks in\nvain; `shelf` and [a](shelf.md) in vein.\n";
    let expected = ["docs shelf @ docs/a.md:1: the text", "docs in vain @ docs/a.md:1: the text"];
    assert_eq!(found("docs/a.md", text), expected);
    assert_eq!(
        found("deploy/a.yaml", "# A shelf.\nb: shelf\n"),
        ["deploy shelf @ deploy/a.yaml:1: the text"]
    );
    assert_eq!(found("host/core/src/a.rs", "let held = 1; // a shelf").len(), 1);
}

#[test]
fn types_are_found_by_their_whole_names_where_they_are_declared() {
    let text = "use other::Held;\nstruct FinalizerHeld;\nenum Held { No }\nfn f(held: Held) {}";
    assert_eq!(found("host/core/src/a.rs", text), ["host/core Held @ host/core/src/a.rs:3: type Held"]);
    assert_eq!(found("sdk/a.go", "type Held struct{}").len(), 1);
    assert_eq!(found("sdk/a.ts", "export class Held {}").len(), 1);
}

#[test]
fn modules_are_found_by_their_files_and_folders() {
    for path in ["host/core/src/heard.rs", "host/core/src/heard/mod.rs"] {
        assert_eq!(found(path, "").len(), 1, "{path}");
    }
    for path in ["host/core/src/heard/a.rs", "host/core/src/over_heard.rs", "docs/heard.md"] {
        assert!(found(path, "").is_empty(), "{path}");
    }
}

#[test]
fn a_row_of_the_table_that_is_unclear_is_found() {
    for line in
        ["shelf", "shelf | names", "shelf | everywhere | catalog", " | names | catalog", "a | names | b | c"]
    {
        assert_eq!(find(&[File::new(TABLE, line)]).len(), 1, "{line}");
    }
}
