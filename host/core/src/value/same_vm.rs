//! Whether two provider ids name one VM.
//!
//! A driver writes one on the Machine, the cloud's own controller or the kubelet writes one on the Node, and they
//! seldom agree on more than the last part: AWS has `aws:///REGION/i-1` and `aws:///ZONE/i-1`, Hetzner
//! `hcloud:///ZONE/1` and `hcloud://1`, Azure a short and a long path in varying case. So a different form is no
//! evidence. The references between a Machine and its Node count, unless both ids have one scheme and end with names of
//! one kind that differ.

use crate::value::id::ProviderId;

/// The result of comparing two provider ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameVm {
    Same,
    Different,
    /// The ids cannot be compared.
    Unclear,
}

impl SameVm {
    /// Compares the ids of a Node and of a Machine, where each may be missing.
    pub fn of(one: Option<&ProviderId>, other: Option<&ProviderId>) -> Self {
        match (one, other) {
            (Some(one), Some(other)) => Self::of_texts(one.as_str(), other.as_str()),
            (None, _) | (_, None) => Self::Unclear,
        }
    }

    /// Compares two provider ids as they are written.
    pub fn of_texts(one: &str, other: &str) -> Self {
        if one == other && !one.is_empty() {
            return Self::Same;
        }
        let ((one_scheme, one), (other_scheme, other)) = (split(one), split(other));
        let (Some(one), Some(other)) = (one, other) else { return Self::Unclear };
        let is_of_one_scheme = match (one_scheme, other_scheme) {
            (Some(one), Some(other)) if one.eq_ignore_ascii_case(other) => true,
            // One cloud may have several separate sets of ids, such as `hcloud` and `hrobot`.
            (Some(_), Some(_)) => return Self::Unclear,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        // Azure is the one that writes names in varying case; no cloud has two that differ by case alone.
        if one.eq_ignore_ascii_case(other) {
            return Self::Same;
        }
        let is_comparable = is_of_one_scheme
            && Kind::of(one) == Kind::of(other)
            && !is_part(one, other)
            && !is_part(other, one);
        if is_comparable { Self::Different } else { Self::Unclear }
    }
}

impl ProviderId {
    /// Returns true when both name one VM, in any form: they are equal, or end with the same name and are not of two
    /// schemes.
    pub fn names_same_vm(&self, other: &Self) -> bool {
        SameVm::of_texts(self.as_str(), other.as_str()) == SameVm::Same
    }
}

/// Returns the part of a provider id that names its VM, for a lookup: ids of one VM have the same part, but others may
/// too. `None`: it names none.
pub fn vm_name(provider_id: &str) -> Option<String> {
    split(provider_id).1.map(str::to_ascii_lowercase)
}

/// The scheme, and the last part that is not empty.
fn split(provider_id: &str) -> (Option<&str>, Option<&str>) {
    let (scheme, path) = match provider_id.split_once("://") {
        Some((scheme, path)) => (Some(scheme), path),
        None => (None, provider_id),
    };
    (scheme, path.rsplit('/').find(|part| !part.is_empty()))
}

/// The kind of name at the end of an id. A cloud that has several names for each VM may write one on the Node and
/// another one on the Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Uuid,
    Instance,
    Name,
}

impl Kind {
    fn of(name: &str) -> Self {
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::Number;
        }
        let groups: Vec<usize> =
            name.split('-').map(|group| if is_hex(group) { group.len() } else { 0 }).collect();
        if groups == [8, 4, 4, 4, 12] {
            return Self::Uuid;
        }
        if name.strip_prefix("i-").is_some_and(is_hex) { Self::Instance } else { Self::Name }
    }
}

/// A name with its domain, or an instance with its region: `a.example.org` and `a`, `region.i-1` and `i-1`.
fn is_part(short: &str, long: &str) -> bool {
    long.split('.').any(|part| part.eq_ignore_ascii_case(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VM: &str = "0f5a1c9e-7a63-4a0f-9d0b-1f6a34a0c111";
    const OTHER_VM: &str = "0f5a1c9e-7a63-4a0f-9d0b-1f6a34a0c222";

    #[test]
    fn each_cloud_writes_one_vm_in_its_forms_and_another_one_is_distinguished_from_it() {
        let azure = |name: &str| {
            format!(
                "azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/{name}"
            )
        };
        // The driver's on the Machine; what the cloud's controller or the kubelet writes on the Node, and on that of
        // another VM.
        let clouds: [(&str, String, Vec<String>, String); 7] = [
            (
                "AWS",
                "aws:///eu-west-1/i-0a1".into(),
                vec!["aws:///eu-west-1a/i-0a1".into()],
                "aws:///eu-west-1a/i-0a2".into(),
            ),
            (
                "Azure",
                "azure:///westeurope/shoot-m-1".into(),
                vec![azure("shoot-m-1"), azure("SHOOT-m-1"), azure("shoot-m-1").to_lowercase()],
                azure("shoot-m-2"),
            ),
            (
                "GCP",
                "gce:///project/zone-a/m-1".into(),
                vec!["gce://project/zone-a/m-1".into()],
                "gce://project/zone-a/m-2".into(),
            ),
            (
                "OpenStack",
                format!("openstack:///region/{VM}"),
                vec![format!("openstack:///{VM}"), format!("openstack://region/{VM}")],
                format!("openstack:///{OTHER_VM}"),
            ),
            ("Hetzner", "hcloud:///fsn1/4711".into(), vec!["hcloud://4711".into()], "hcloud://4712".into()),
            (
                "Alicloud",
                "cn-beijing.i-2ze".into(),
                vec!["cn-beijing.i-2ze".into(), "alicloud://cn-beijing.i-2ze".into()],
                "cn-beijing.i-3xy".into(),
            ),
            (
                "IronCore",
                "ironcore://garden/m-1".into(),
                vec!["ironcore://garden/m-1".into()],
                "ironcore://garden/m-2".into(),
            ),
        ];
        for (cloud, own, of_node, of_other) in clouds {
            for id in &of_node {
                assert_eq!(SameVm::of_texts(&own, id), SameVm::Same, "{cloud}: {id}");
                assert_eq!(SameVm::of_texts(id, &own), SameVm::Same, "{cloud}: {id}");
                assert_eq!(vm_name(&own), vm_name(id), "{cloud}: {id}");
                assert!(ProviderId::new(&own).names_same_vm(&ProviderId::new(id)), "{cloud}: {id}");
            }
            assert_eq!(SameVm::of_texts(&own, &of_other), SameVm::Different, "{cloud}");
            assert_eq!(SameVm::of_texts(&of_other, &own), SameVm::Different, "{cloud}");
            assert!(!ProviderId::new(&own).names_same_vm(&ProviderId::new(&of_other)), "{cloud}");
        }
    }

    #[test]
    fn a_form_that_cannot_be_compared_is_evidence_of_nothing() {
        for (one, other) in [
            ("aws:///eu-west-1/i-0a1", "sim:///zone/i-0a2"),
            ("hcloud:///fsn1/4711", "hrobot://4711"),
            ("vsphere:///dc/m-1", "vsphere://0f5a1c9e-7a63-4a0f-9d0b-1f6a34a0c111"),
            ("vsphere:///dc/m-1", "vsphere://4711"),
            ("aws:///eu-west-1/i-0a1", "aws:///eu-west-1a/ip-10-0-0-1.ec2.internal"),
            ("gce:///p/z/m-1", "gce://p/z/m-1.c.p.internal"),
            ("cn-beijing.i-2ze", "i-2ze"),
            ("alicloud://cn-beijing.i-2ze", "cn-beijing.i-3xy"),
            ("aws://", "aws:///eu-west-1/i-0a1"),
            ("", "aws:///eu-west-1/i-0a1"),
            ("", ""),
            ("///", "//"),
        ] {
            assert_eq!(SameVm::of_texts(one, other), SameVm::Unclear, "{one:?} {other:?}");
            assert_eq!(SameVm::of_texts(other, one), SameVm::Unclear, "{other:?} {one:?}");
        }
        let id = ProviderId::new("sim:///zone/a");
        assert_eq!([SameVm::of(None, Some(&id)), SameVm::of(Some(&id), None)], [SameVm::Unclear; 2]);
        assert_eq!(SameVm::of(Some(&id), Some(&id)), SameVm::Same);
    }

    #[test]
    fn slashes_at_the_end_and_letters_of_the_scheme_do_not_matter() {
        assert_eq!(SameVm::of_texts("AWS:///eu-west-1/i-0a1/", "aws:///eu-west-1a/i-0a1"), SameVm::Same);
        assert_eq!(vm_name("aws:///eu-west-1/I-0A1//"), Some("i-0a1".to_owned()));
        assert_eq!([vm_name(""), vm_name("aws://"), vm_name("a")], [None, None, Some("a".to_owned())]);
    }
}
