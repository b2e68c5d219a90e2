//! URLs of requests and settings.

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`
    Https,
}

/// The parts of a URL that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Host and port, as the host connects to them.
    pub authority: String,
    /// Begins with a slash.
    pub path_with_query: String,
}

impl Url {
    /// Parses a URL. `None` if it is not a URL of HTTP, or contains a user, a fragment or anything but visible ASCII.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = match text.split_once("://")? {
            ("http", rest) => (Scheme::Http, rest),
            ("https", rest) => (Scheme::Https, rest),
            _ => return None,
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let is_visible = rest.bytes().all(|byte| byte.is_ascii_graphic());
        if authority.is_empty() || authority.contains(['@', '\\']) || rest.contains('#') || !is_visible {
            return None;
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path_with_query = format!("{slash}{path}");
        Some(Self { scheme, authority: authority.to_owned(), path_with_query })
    }

    /// Returns the host without its port, as grants name it.
    pub fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.authority,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_scheme_an_authority_and_a_target() {
        let url = Url::parse("http://127.0.0.1:8080?a=b").unwrap();
        assert_eq!(
            (url.scheme, url.host(), url.authority.as_str()),
            (Scheme::Http, "127.0.0.1", "127.0.0.1:8080")
        );
        assert_eq!(url.path_with_query, "/?a=b");
        let url = Url::parse("https://[::1]/v1/vms?x=%20").unwrap();
        assert_eq!(
            (url.scheme, url.host(), url.path_with_query.as_str()),
            (Scheme::Https, "[::1]", "/v1/vms?x=%20")
        );
    }

    #[test]
    fn what_is_no_url_is_none() {
        for text in [
            "", "a", "ftp://a", "http://", "http:///x", "http://me@a/", "http://a/#b", "http://a/ b",
            "http://ä/",
        ] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }
}
