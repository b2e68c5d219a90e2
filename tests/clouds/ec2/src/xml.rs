//! Reading answers, and changing places in them without touching the rest.

use std::ops::Range;

use roxmltree::Node;

/// The first child of this name.
pub(crate) fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// The text at the end of a way of children.
pub(crate) fn text<'a>(node: Node<'a, '_>, way: &[&str]) -> Option<&'a str> {
    way.iter().try_fold(node, |node, name| child(node, name))?.text()
}

/// The items of a list.
pub(crate) fn items<'a, 'd>(
    node: Node<'a, 'd>,
    list: &str,
) -> impl Iterator<Item = Node<'a, 'd>> + use<'a, 'd> {
    let items = child(node, list).into_iter().flat_map(|list| list.children());
    items.filter(|item| item.tag_name().name() == "item")
}

/// The instances of an answer that has reservations, or is one.
pub(crate) fn instances<'a, 'd>(root: Node<'a, 'd>) -> Vec<Node<'a, 'd>> {
    let sets = root.descendants().filter(|node| node.tag_name().name() == "instancesSet");
    sets.flat_map(|set| set.children().filter(|item| item.tag_name().name() == "item")).collect()
}

/// Replacements, applied all at once.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    edits: Vec<(Range<usize>, String)>,
}

impl Edits {
    pub(crate) fn replace(&mut self, node: Node<'_, '_>, by: impl Into<String>) {
        self.edits.push((node.range(), by.into()));
    }

    /// Puts something before the end tag of this element, which must not be empty.
    pub(crate) fn append(&mut self, node: Node<'_, '_>, what: impl Into<String>) {
        if let Some(last) = node.last_child() {
            let end = last.range().end;
            self.edits.push((end..end, what.into()));
        }
    }

    /// Returns the text with the replacements. Replacements inside of a replaced element are dropped.
    pub(crate) fn apply(mut self, text: &str) -> String {
        // Of two that begin alike the wider comes first.
        self.edits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        for (range, by) in self.edits {
            if range.start < at {
                continue;
            }
            result.push_str(&text[at..range.start]);
            result.push_str(&by);
            at = range.end;
        }
        result.push_str(&text[at..]);
        result
    }
}

/// Text as content of an element.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;

    #[test]
    fn what_lies_inside_of_a_replaced_element_falls_with_it() {
        let text = "<a><b><c>1</c></b><d>2</d></a>";
        let document = Document::parse(text).unwrap();
        let root = document.root_element();
        let mut edits = Edits::default();
        edits.replace(child(child(root, "b").unwrap(), "c").unwrap(), "<c>9</c>");
        edits.replace(child(root, "b").unwrap(), "");
        edits.append(root, "<e/>");
        assert_eq!(edits.apply(text), "<a><d>2</d><e/></a>");
    }
}
