//! Decides which preservation request counts: that of the Machine or that of its Node.

/// The requests that are understood.
pub const NOW: &str = "now";
/// Once it has failed.
pub const WHEN_FAILED: &str = "when-failed";
/// Set by a controller, once it has failed.
pub const AUTO_PRESERVED: &str = "auto-preserved";
pub const NEVER: &str = "false";

/// Returns whether a request is understood. An absent one is.
pub fn is_known(wish: &str) -> bool {
    matches!(wish, "" | NOW | WHEN_FAILED | AUTO_PRESERVED | NEVER)
}

/// Returns whether the Node's annotation counts: from its first appearance on, also after its removal. `node` is empty
/// for a Node without a request, and `None` without a Node.
pub fn node_decides(node: Option<&str>, heeded: Option<&str>) -> bool {
    node.is_some_and(|wish| !(wish.is_empty() && heeded.unwrap_or_default().is_empty()))
}

/// Returns the request that counts, empty for none; `Err` for an invalid text on the Node. An invalid text on the
/// Machine counts as none.
pub fn effective<'a>(
    machine: Option<&'a str>,
    node: Option<&'a str>,
    heeded: Option<&str>,
) -> Result<&'a str, &'a str> {
    match node.filter(|_| node_decides(node, heeded)) {
        Some(wish) if is_known(wish) => Ok(wish),
        Some(wish) => Err(wish),
        None => Ok(machine.filter(|wish| is_known(wish)).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_decides_once_it_has_said_something() {
        let rows = [
            (Some("now"), None, None, Ok("now")),
            (Some("now"), Some(""), None, Ok("now")),
            (Some("now"), Some("false"), None, Ok("false")),
            (Some("now"), Some(""), Some("when-failed"), Ok("")),
            (Some("nwo"), None, None, Ok("")),
            (Some("now"), Some("nwo"), None, Err("nwo")),
            (None, None, Some("now"), Ok("")),
        ];
        for (machine, node, heeded, expected) in rows {
            assert_eq!(effective(machine, node, heeded), expected, "{machine:?} {node:?} {heeded:?}");
        }
    }
}
