//! Parses the versions that tools print.

/// Returns major and minor number of the first version in a text: `rustc 1.95.0 (…)`, `go version go1.26.0 …`,
/// `v20.1.0`, `Python 3.11.2`.
pub(super) fn first(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let number = word.strip_prefix("go").unwrap_or(word);
        let mut numbers = number.trim_start_matches('v').split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn a_version_is_found_where_each_tool_writes_it() {
        for (text, version) in [
            ("rustc 1.95.0 (f3b2a1c0d 2026-04-14)\n", Some((1, 95))),
            ("rustc 1.97.0-nightly (0 2026-05-01)", Some((1, 97))),
            ("go version go1.26.3 linux/amd64", Some((1, 26))),
            ("v20.19.2", Some((20, 19))),
            ("Python 3.11.2", Some((3, 11))),
            ("Python 3.15.0a1", Some((3, 15))),
            ("no version", None),
            ("", None),
        ] {
            assert_eq!(first(text), version, "{text}");
        }
    }
}
