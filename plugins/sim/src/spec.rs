//! The fields of a class.

use std::collections::BTreeMap;

use machinist_sdk::driver::{Class, Failure, Fields, invalid, quoted};
use serde_json::{Map, Value, json};

use crate::answer::{CLUSTER_TAG, NAME_TAG, UID_TAG};

/// JSON Schema of `providerSpec`, for `describe`.
pub(crate) const SCHEMA: &str = include_str!("class-schema.json");

const FIELDS: [&str; 7] = ["zone", "type", "image", "tags", "volumes", "initialize", "interruptible"];
const VOLUME_FIELDS: [&str; 2] = ["sizeGib", "name"];
const OWN_TAGS: [&str; 3] = [CLUSTER_TAG, UID_TAG, NAME_TAG];
/// The cloud allows 50 tags; the driver needs some of them.
const MOST_TAGS: usize = 50 - OWN_TAGS.len();
const TAG_KEY_BYTES: usize = 128;
const TAG_VALUE_BYTES: usize = 256;

/// The properties of a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// At least one, best first.
    pub(crate) zones: Vec<String>,
    pub(crate) kind: String,
    pub(crate) image: String,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) volumes: Vec<VolumeSpec>,
    /// True if `initialize` completes the VM.
    pub(crate) initialize: bool,
    /// True if the VM may be taken away at any time. The driver only reports it: the cloud has one kind of VM.
    pub(crate) interruptible: bool,
}

/// A volume that is created with the VM and deleted with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeSpec {
    pub(crate) size_gib: u64,
    pub(crate) name: Option<String>,
}

/// A class, and warnings about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) spec: Spec,
    /// Unknown fields, which the driver ignores.
    pub(crate) warnings: Vec<String>,
}

impl Spec {
    /// Returns the body of a create. The same class, machine and user data always give the same body.
    pub(crate) fn body(
        &self,
        name: &str,
        zone: &str,
        own_tags: [(&str, &str); 3],
        user_data: Option<&str>,
    ) -> Value {
        let own = own_tags.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        let tags: BTreeMap<String, String> = self.tags.clone().into_iter().chain(own).collect();
        let mut body =
            json!({ "name": name, "zone": zone, "type": self.kind, "image": self.image, "tags": tags });
        if let Some(user_data) = user_data {
            body["userData"] = json!(user_data);
        }
        if !self.volumes.is_empty() {
            body["volumes"] = self.volumes.iter().map(VolumeSpec::body).collect();
        }
        if self.initialize {
            body["needsInitialize"] = json!(true);
        }
        body
    }
}

impl VolumeSpec {
    fn body(&self) -> Value {
        let mut body = json!({ "sizeGib": self.size_gib });
        if let Some(name) = &self.name {
            body["name"] = json!(name);
        }
        body
    }
}

/// Reads a class. Unknown fields cause a warning, and null counts as absent.
pub(crate) fn read(class: &Class) -> Result<Read, Failure> {
    let root = Fields::provider_spec(class)?;
    let zones = zones(&root, &class.zones)?;
    let mut warnings = root.unknown(&FIELDS);
    let (volumes, of_volumes) = volumes(&root)?;
    warnings.extend(of_volumes);
    let spec = Spec {
        zones,
        kind: root.needed_text("type")?,
        image: root.needed_text("image")?,
        tags: tags(&root)?,
        volumes,
        initialize: initialize(&root)?,
        interruptible: root.flag("interruptible")?.unwrap_or_default(),
    };
    Ok(Read { spec, warnings })
}

/// Returns the `providerSpec` of a class in this zone and no other. The cloud names its zones; a create in one that it
/// lacks fails.
pub(crate) fn placed(class: &Class, zone: &str) -> Result<String, Failure> {
    read(&Class { zones: vec![zone.to_owned()], ..class.clone() })?;
    let mut fields: Map<String, Value> = serde_json::from_str(&class.spec)
        .map_err(|_| invalid("the MachineClass's providerSpec is invalid: it is not an object"))?;
    fields.insert("zone".to_owned(), json!(zone));
    Ok(Value::Object(fields).to_string())
}

/// Reads the only field that matters once the VM exists. An unreadable class asks for nothing.
pub(crate) fn asks_for_initialize(class: &Class) -> bool {
    Fields::provider_spec(class).and_then(|root| initialize(&root)).unwrap_or(false)
}

/// True if a VM of this class may have volumes. With an unreadable class it may.
pub(crate) fn may_ask_for_volumes(class: &Class) -> bool {
    let volumes = Fields::provider_spec(class).and_then(|root| Ok(root.objects("volumes")?.len()));
    volumes.map_or(true, |count| count > 0)
}

fn zones(root: &Fields, alternatives: &[String]) -> Result<Vec<String>, Failure> {
    let mut zones: Vec<String> = root.text("zone")?.into_iter().collect();
    for zone in alternatives.iter().filter(|zone| !zone.is_empty()) {
        if !zones.contains(zone) {
            zones.push(zone.clone());
        }
    }
    if zones.is_empty() {
        return Err(root.invalid("zone", "is required"));
    }
    Ok(zones)
}

fn initialize(root: &Fields) -> Result<bool, Failure> {
    root.flag("initialize").map(Option::unwrap_or_default)
}

fn tags(root: &Fields) -> Result<BTreeMap<String, String>, Failure> {
    let fields = root.entries("tags", "an object of texts")?;
    if fields.len() > MOST_TAGS {
        return Err(root.invalid("tags", &format!("has {} entries: at most {MOST_TAGS} fit", fields.len())));
    }
    let tag = |(key, value): (&str, &Value)| {
        let at = format!("tags[{:?}]", quoted(key));
        if OWN_TAGS.contains(&key) {
            return Err(root.invalid(&at, "is set by the driver: use another key"));
        }
        if key.is_empty() || key.len() > TAG_KEY_BYTES || key.contains(':') {
            return Err(
                root.invalid(&at, &format!("must have a key of 1 to {TAG_KEY_BYTES} bytes without a colon"))
            );
        }
        match value {
            Value::String(text) if text.len() <= TAG_VALUE_BYTES => Ok((key.to_owned(), text.clone())),
            other => Err(root.unfit(&at, &format!("a text of at most {TAG_VALUE_BYTES} bytes"), other)),
        }
    };
    fields.into_iter().map(tag).collect()
}

fn volumes(root: &Fields) -> Result<(Vec<VolumeSpec>, Vec<String>), Failure> {
    let mut volumes = Vec::new();
    let mut warnings = Vec::new();
    for fields in root.objects("volumes")? {
        let size_gib = fields.needed_whole_number("sizeGib", 1..=u64::MAX)?;
        volumes.push(VolumeSpec { size_gib, name: fields.text("name")? });
        warnings.extend(fields.unknown(&VOLUME_FIELDS));
    }
    Ok((volumes, warnings))
}
