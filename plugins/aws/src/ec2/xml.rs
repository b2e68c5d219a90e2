//! Answers of EC2: XML in a namespace that changes with the API's version, so elements are found by their local names.

use roxmltree::{Document, Error, Node};

/// The reason why a text is not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It ends before it is complete.
    CutOff,
    /// The text is not XML.
    NotXml,
}

/// Parses a complete answer.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Broken> {
    Document::parse(text).map_err(|error| match error {
        Error::UnexpectedEndOfStream | Error::UnclosedRootNode | Error::NoRootNode => Broken::CutOff,
        _ if is_cut(text) => Broken::CutOff,
        _ => Broken::NotXml,
    })
}

/// True for a text that begins as XML and does not end as XML.
fn is_cut(text: &str) -> bool {
    text.trim_start().starts_with('<') && !text.trim_end().ends_with('>')
}

/// Returns the first child of this name.
pub(crate) fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// Returns the text at the end of a path of children; `None` if it is empty.
pub(crate) fn text<'a>(node: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let mut at = node;
    for name in path {
        at = child(at, name)?;
    }
    at.text().map(str::trim).filter(|text| !text.is_empty())
}

/// Returns the unchanged text of a child, for texts of users.
pub(crate) fn verbatim<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    Some(child(node, name)?.text().unwrap_or_default())
}

/// Returns the entries of a list: the `item`s of the child of this name.
pub(crate) fn items<'a, 'input>(node: Node<'a, 'input>, list: &str) -> Vec<Node<'a, 'input>> {
    let list = child(node, list);
    let children = list.into_iter().flat_map(|list| list.children());
    children.filter(|child| child.is_element() && child.tag_name().name() == "item").collect()
}

/// Returns code and message of an error of EC2 or STS.
pub(crate) fn refusal(text: &str) -> Option<(String, String)> {
    let document = parse(text).ok()?;
    let error = document.descendants().find(|node| node.is_element() && node.tag_name().name() == "Error")?;
    let code = self::text(error, &["Code"])?.to_owned();
    let message = self::text(error, &["Message"]).unwrap_or("no message").to_owned();
    Some((code, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_go_by_their_local_names() {
        let text = "<?xml version=\"1.0\"?>\n<a:R xmlns:a=\"urn:x\" xmlns=\"urn:y\"><s><item>1</item>x<other/><item/></s><t> y </t></a:R>";
        let document = parse(text).unwrap();
        let root = document.root_element();
        assert_eq!((root.tag_name().name(), super::text(root, &["t"])), ("R", Some("y")));
        assert_eq!(items(root, "s").len(), 2);
        assert_eq!((super::text(root, &["s", "other"]), items(root, "none").len()), (None, 0));
    }

    #[test]
    fn half_of_an_answer_is_told_from_nonsense() {
        let whole = "<R><s><item>text</item></s></R>";
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]).unwrap_err(), Broken::CutOff, "{length}");
        }
        for text in ["{\"a\": 1}", "not xml", "<a></b>", "<a>&unknown;</a>"] {
            assert_eq!(parse(text).unwrap_err(), Broken::NotXml, "{text}");
        }
    }

    #[test]
    fn an_entity_bomb_is_not_expanded() {
        assert!(parse("<!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><r>&b;</r>").is_err());
    }

    #[test]
    fn refusals_of_ec2_and_of_sts_are_read() {
        let ec2 = "<Response><Errors><Error><Code>A.B</Code><Message>m</Message></Error></Errors><RequestID/></Response>";
        assert_eq!(refusal(ec2), Some(("A.B".into(), "m".into())));
        let sts = "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>X</Code></Error></ErrorResponse>";
        assert_eq!(refusal(sts), Some(("X".into(), "no message".into())));
        for other in ["", "<Response/>", "<Response><Errors><Error><Code/></Error></Errors></Response>", "no"]
        {
            assert_eq!(refusal(other), None, "{other}");
        }
    }
}
