//! Draws branches as lines of text.

/// A line, its notes, and its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) line: String,
    pub(super) notes: Vec<String>,
    pub(super) children: Vec<Branch>,
}

impl Branch {
    pub(super) fn leaf(line: impl Into<String>) -> Self {
        Self { line: line.into(), ..Self::default() }
    }
}

/// The trees, one after the other.
pub(super) fn draw(roots: &[Branch]) -> String {
    let mut out = String::new();
    for (number, root) in roots.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        grow(root, "", "", &mut out);
    }
    out
}

/// `first`: the prefix of its line; `rest`: the prefix of the lines below.
fn grow(branch: &Branch, first: &str, rest: &str, out: &mut String) {
    let mut line = |before: &str, text: &str| {
        out.push_str(before);
        out.push_str(text);
        out.push('\n');
    };
    line(first, &branch.line);
    let stem = if branch.children.is_empty() { "   " } else { "│  " };
    for note in &branch.notes {
        line(&format!("{rest}{stem}"), note);
    }
    let Some((last, others)) = branch.children.split_last() else { return };
    for child in others {
        grow(child, &format!("{rest}├─ "), &format!("{rest}│  "), out);
    }
    grow(last, &format!("{rest}└─ "), &format!("{rest}   "), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_go_on_as_long_as_something_hangs_on_them() {
        let noted = |line: &str, children| Branch { line: line.into(), notes: vec!["why".into()], children };
        let tree = noted("a", vec![noted("b", vec![Branch::leaf("c")]), noted("d", vec![])]);
        expect_test::expect![[r#"
            a
            │  why
            ├─ b
            │  │  why
            │  └─ c
            └─ d
                  why

            e
        "#]]
        .assert_eq(&draw(&[tree, Branch::leaf("e")]));
    }
}
