//! Names of Google and of the driver: what may become part of a URL, and the marks of instances.

/// The label with the Machine's uid.
pub(crate) const UID_LABEL: &str = "machinist-machine-uid";
/// The label with the cluster's mark.
pub(crate) const CLUSTER_LABEL: &str = "machinist-cluster";

/// Part of the network tag of a cluster, as machine-controller-manager sets it; the cluster's name follows.
pub(crate) const CLUSTER_TAG: &str = "kubernetes-io-cluster-";
/// Part of the network tag of a role; the role follows.
pub(crate) const ROLE_TAG: &str = "kubernetes-io-role-";

/// Whether a text can be the id of a project. Old projects belong to a domain: `example.com:project`.
pub(crate) fn is_project(text: &str) -> bool {
    let is_plain = |byte: u8| is_plain(byte) || byte == b'.' || byte == b':';
    let starts = text.bytes().next().is_some_and(|byte| is_plain(byte) && byte.is_ascii_alphanumeric());
    starts && text.len() <= 200 && text.bytes().all(is_plain) && !text.contains("..")
}

/// Whether a text can be the name of an instance, a disk, an operation or a network tag.
pub(crate) fn is_name(text: &str) -> bool {
    is_place(text) && !text.ends_with('-')
}

/// Whether a text can be the name of a region or zone.
pub(crate) fn is_place(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.starts_with(|char: char| char.is_ascii_lowercase())
        && text.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_and_names_are_safe_in_urls() {
        for good in ["machinist-lab", "example.com:lab", "7"] {
            assert!(is_project(good), "{good}");
        }
        for bad in ["", "a/b", "A", "a..b", "a?b", "-a", ".", "a b"] {
            assert!(!is_project(bad), "{bad}");
        }
        assert!(is_name("worker-1") && is_name("a"));
        for bad in ["", "1a", "a-", "a.b", "A", &"a".repeat(64)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
