//! Parses the challenges by which a registry asks for a login. Pure.

/// One way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User and password with each request.
    Basic,
    /// A token from somebody else.
    Bearer { realm: String, service: Option<String> },
}

/// Reads `WWW-Authenticate`. The first way that is known counts.
pub(super) fn read(header: &str) -> Option<Challenge> {
    let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let realm = parameter(rest, "realm")?;
    Some(Challenge::Bearer { realm, service: parameter(rest, "service") })
}

/// The value of `name="value"` among parameters separated by commas.
fn parameter(text: &str, name: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let (key, after) = rest.trim_start_matches([' ', ',']).split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_of_registries_are_read() {
        let bearer =
            read(r#"Bearer realm="https://a.io/token?x=1,2",service="a.io",scope="repository:b:pull""#);
        let realm = "https://a.io/token?x=1,2".to_owned();
        assert_eq!(bearer, Some(Challenge::Bearer { realm, service: Some("a.io".to_owned()) }));
        let bare = read("bearer service=s, realm=https://a.io/t");
        assert_eq!(
            bare,
            Some(Challenge::Bearer { realm: "https://a.io/t".to_owned(), service: Some("s".to_owned()) })
        );
        assert_eq!(read("BASIC realm=\"x\""), Some(Challenge::Basic));
        assert_eq!(read("Basic"), Some(Challenge::Basic));
        for invalid in [
            "", "Negotiate", "Bearer", "Bearer realm", "Bearer realm=\"x", "Bearer service=\"a\"",
            "Bearer ,,,=",
        ] {
            assert_eq!(read(invalid), None, "{invalid}");
        }
    }
}
