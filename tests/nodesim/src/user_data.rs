//! Finds the bootstrap token in what a VM was given at boot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
/// Shorter runs of base64 letters hold no token.
const SHORTEST_NESTED: usize = 32;

/// The first bootstrap token (`[a-z0-9]{6}.[a-z0-9]{16}`, standing alone) in the text, be it a script or a
/// cloud-config; failing that, in a file that the text carries as base64.
pub fn bootstrap_token(user_data: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(user_data);
    find(&text).or_else(|| {
        text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "+/=".contains(letter)))
            .filter(|word| word.len() >= SHORTEST_NESTED)
            .filter_map(|word| STANDARD.decode(word).ok())
            .find_map(|nested| find(&String::from_utf8_lossy(&nested)))
    })
}

fn find(text: &str) -> Option<String> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "._-".contains(letter)))
        .map(|word| word.trim_end_matches('.'))
        .find(|word| is_token(word))
        .map(str::to_owned)
}

fn is_token(word: &str) -> bool {
    let is_part = |part: &str, length| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    word.split_once('.').is_some_and(|(id, secret)| is_part(id, ID_LENGTH) && is_part(secret, SECRET_LENGTH))
}

/// The taint with which kubeadm's configuration of Cluster API registers a Node, until core has labelled it.
pub(crate) const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";

/// Whether the configuration registers the Node with that taint.
pub(crate) fn registers_uninitialized(user_data: &[u8]) -> bool {
    String::from_utf8_lossy(user_data).contains(UNINITIALIZED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abc123.0123456789abcdef";

    fn check(user_data: &str, expected: Option<&str>) {
        assert_eq!(bootstrap_token(user_data.as_bytes()).as_deref(), expected, "{user_data}");
    }

    #[test]
    fn a_token_is_found_wherever_it_is_a_word_of_its_own() {
        check(&format!("#!/bin/sh\nkubelet --token={TOKEN}\n"), Some(TOKEN));
        check(&format!("#cloud-config\nwrite_files:\n- content: |\n    token: \"{TOKEN}\"\n"), Some(TOKEN));
        check(&format!("The token is {TOKEN}."), Some(TOKEN));
        check(TOKEN, Some(TOKEN));
    }

    #[test]
    fn what_only_looks_like_a_token_is_none() {
        check("", None);
        check("version.0123456789abcdef", None);
        check(&format!("x{TOKEN}"), None);
        check(&format!("{TOKEN}0"), None);
        check(&TOKEN.to_uppercase(), None);
        check("abc123.0123456789abcdef.example.org", None);
        check("http://abc123.example.org", None);
    }

    #[test]
    fn a_token_is_found_in_a_file_within_a_cloud_config() {
        let file =
            STANDARD.encode(format!("apiVersion: v1\nkind: Config\nusers:\n- user: {{token: {TOKEN}}}\n"));
        check(&format!("#cloud-config\nwrite_files:\n- encoding: b64\n  content: {file}\n"), Some(TOKEN));
    }

    #[test]
    fn only_a_configuration_that_has_the_taint_registers_with_it() {
        let configuration = "nodeRegistration:\n  taints:\n  - effect: NoSchedule\n    key: node.cluster.x-k8s.io/uninitialized\n";
        assert!(registers_uninitialized(configuration.as_bytes()));
        assert!(!registers_uninitialized(b"#cloud-config"));
    }
}
