//! Templates of Machines, as far as they decide whether Machines must be replaced.

use std::collections::BTreeMap;

/// A template.
///
/// The template of Machines. Two parts: fields that a Machine cannot change (a change is a rollout), and fields that
/// are copied to existing Machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Labels of the Machines.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Machines.
    pub annotations: BTreeMap<String, String>,
    /// Further fields of the metadata, each as canonical text. Those that are empty or null are left out.
    pub other_metadata: BTreeMap<String, String>,
    /// API group of the class.
    pub class_group: String,
    pub class_name: String,
    /// Kind of the class. Handed on.
    pub class_kind: String,
    /// The id of a VM, if a template has one.
    pub provider_id: String,
    /// Fields that are copied to existing Machines: the node template and the settings, each as canonical text.
    pub handed_on: BTreeMap<String, String>,
}

impl Template {
    /// Returns whether Machines of one template match the other. The label of the hash does not count: sets have it,
    /// deployments do not.
    pub fn makes_the_same_as(&self, other: &Self, hash_label: &str) -> bool {
        self.fixed(hash_label).eq(other.fixed(hash_label))
    }

    /// Returns whether the copied fields are the same as well.
    pub fn hands_on_the_same_as(&self, other: &Self) -> bool {
        self.class_kind == other.class_kind && self.handed_on == other.handed_on
    }

    /// Returns a hash of the template for a name. `collisions` distinguishes two templates with the same hash.
    ///
    /// It is written into names and labels of sets, and is never compared: the template itself decides which set
    /// belongs to it. So it may change from release to release.
    pub fn hash(&self, hash_label: &str, collisions: Option<u32>) -> u32 {
        let mut hash = Fnv::new();
        for (field, key, value) in self.fixed(hash_label) {
            hash.text(field);
            hash.text(key);
            hash.text(value);
        }
        if let Some(collisions) = collisions {
            hash.bytes(&collisions.to_le_bytes());
        }
        hash.0
    }

    /// Returns the fields that cannot change in a Machine, in one order.
    fn fixed<'a>(
        &'a self,
        hash_label: &'a str,
    ) -> impl Iterator<Item = (&'static str, &'a str, &'a str)> + 'a {
        let map = |field: &'static str, map: &'a BTreeMap<String, String>| {
            map.iter().map(move |(key, value)| (field, key.as_str(), value.as_str()))
        };
        let one = |field: &'static str, value: &'a str| {
            std::iter::once((field, "", value)).filter(|(_, _, value)| !value.is_empty())
        };
        map("labels", &self.labels)
            .filter(move |(_, key, _)| *key != hash_label)
            .chain(map("annotations", &self.annotations))
            .chain(map("metadata", &self.other_metadata))
            .chain(one("class group", &self.class_group))
            .chain(one("class name", &self.class_name))
            .chain(one("provider id", &self.provider_id))
    }
}

/// Returns the end of a set's name: five characters of a hash, of an alphabet that makes no words.
pub fn name_suffix(hash: u32) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    const LENGTH: usize = 5;
    let letter = |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).copied().unwrap_or(b'x');
    hash.to_string().bytes().take(LENGTH).map(|byte| char::from(letter(byte))).collect()
}

struct Fnv(u32);

impl Fnv {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;

    fn new() -> Self {
        Self(Self::OFFSET)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }

    /// Hashes a text with its length, so that no two lists of texts are equal.
    fn text(&mut self, text: &str) {
        self.bytes(&text.len().to_le_bytes());
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const HASH: &str = "template-hash";

    fn template() -> Template {
        Template {
            labels: BTreeMap::from([("name".into(), "workers".into())]),
            class_kind: "MachineClass".into(),
            class_name: "small".into(),
            ..Template::default()
        }
    }

    fn with(change: impl FnOnce(&mut Template)) -> Template {
        let mut template = template();
        change(&mut template);
        template
    }

    fn set(map: fn(&mut Template) -> &mut BTreeMap<String, String>, key: &'static str) -> Template {
        with(|template| {
            map(template).insert(key.into(), "1".into());
        })
    }

    #[test]
    fn what_a_machine_cannot_change_makes_another_template() {
        let others = [
            with(|template| template.class_name = "large".into()),
            with(|template| template.class_group = "machines".into()),
            with(|template| template.provider_id = "vm-1".into()),
            set(|template| &mut template.labels, "a"),
            set(|template| &mut template.annotations, "restarted-at"),
            set(|template| &mut template.other_metadata, "finalizers"),
        ];
        for (index, other) in others.iter().enumerate() {
            assert!(!template().makes_the_same_as(other, HASH), "{index}");
            assert_ne!(template().hash(HASH, None), other.hash(HASH, None), "{index}");
        }
    }

    #[test]
    fn what_is_handed_on_and_the_hash_do_not() {
        let others = [
            with(|template| template.class_kind = "OtherClass".into()),
            set(|template| &mut template.handed_on, "drainTimeout"),
            set(|template| &mut template.labels, HASH),
        ];
        for (index, other) in others.iter().enumerate() {
            assert!(template().makes_the_same_as(other, HASH), "{index}");
            assert_eq!(template().hash(HASH, None), other.hash(HASH, None), "{index}");
        }
        assert!(!template().hands_on_the_same_as(&others[0]) && !template().hands_on_the_same_as(&others[1]));
        assert!(template().hands_on_the_same_as(&others[2]));
    }

    #[test]
    fn a_key_in_another_map_and_a_letter_in_another_text_are_not_the_same() {
        let label = set(|template| &mut template.labels, "ab");
        let annotation = set(|template| &mut template.annotations, "ab");
        let shifted = with(|template| {
            template.labels.insert("a".into(), "b1".into());
        });
        let hashes = [&label, &annotation, &shifted].map(|template| template.hash(HASH, None));
        assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2], "{hashes:?}");
    }

    #[test]
    fn each_collision_makes_another_hash_and_name() {
        let names: Vec<String> = [None, Some(1), Some(2)]
            .into_iter()
            .map(|collisions| {
                let hash = template().hash(HASH, collisions);
                format!("{hash} {}", name_suffix(hash))
            })
            .collect();
        expect![[r#"
            4109398322 854f7
            3566670179 79bbb
            3826406448 7d6b8"#]]
        .assert_eq(&names.join("\n"));
        assert_eq!(name_suffix(7).len(), 1);
    }
}
