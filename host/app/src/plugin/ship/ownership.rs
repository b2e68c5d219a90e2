//! The owners of a ConfigMap's fields. Server-side apply removes fields that its manager owned and no longer names, and
//! no fields of others.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use serde_json::{Map, Value, json};

/// The field manager of `machinist plugin push`.
pub(crate) const MANAGER: &str = "machinist-push";

const APPLY: &str = "Apply";

/// The keys that earlier pushes wrote and still own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) data: BTreeSet<String>,
    pub(crate) labels: BTreeSet<String>,
}

/// Reads it from `metadata.managedFields`.
pub(crate) fn owned(map: &ConfigMap) -> Owned {
    let entries = map.metadata.managed_fields.iter().flatten();
    let fields = entries.filter(|entry| is_ours(entry)).filter_map(|entry| entry.fields_v1.as_ref());
    let mut owned = Owned::default();
    for FieldsV1(fields) in fields {
        owned.data.extend(names(fields.get("f:data")));
        owned.labels.extend(names(fields.pointer("/f:metadata/f:labels")));
    }
    owned
}

/// Keys of `data` that one of our commands wrote, also beside a push: `machinist plugin sign` writes the signature.
/// Nobody else has written them since.
pub(crate) fn written_by_us(map: &ConfigMap) -> BTreeSet<String> {
    let entries = map.metadata.managed_fields.iter().flatten();
    let keys = |is_ours: bool| -> BTreeSet<String> {
        let entries = entries.clone().filter(|entry| (entry.manager.as_deref() == Some(MANAGER)) == is_ours);
        entries
            .filter_map(|entry| entry.fields_v1.as_ref())
            .flat_map(|fields| names(fields.0.get("f:data")))
            .collect()
    };
    keys(true).difference(&keys(false)).cloned().collect()
}

/// The managed fields with these keys of `data` and `binaryData` in our hands. Nothing of the content changes by that.
pub(crate) fn taken_over(map: &ConfigMap, keys: &[String]) -> Vec<ManagedFieldsEntry> {
    let mut entries: Vec<ManagedFieldsEntry> = map.metadata.managed_fields.clone().unwrap_or_default();
    if !entries.iter().any(is_ours) {
        entries.push(ManagedFieldsEntry {
            api_version: Some("v1".to_owned()),
            fields_type: Some("FieldsV1".to_owned()),
            manager: Some(MANAGER.to_owned()),
            operation: Some(APPLY.to_owned()),
            ..ManagedFieldsEntry::default()
        });
    }
    let places =
        [("f:data", keys_of(map.data.as_ref())), ("f:binaryData", keys_of(map.binary_data.as_ref()))];
    for entry in &mut entries {
        let is_ours = is_ours(entry);
        let FieldsV1(fields) = entry.fields_v1.get_or_insert_with(|| FieldsV1(json!({})));
        let Some(fields) = fields.as_object_mut() else { continue };
        for (place, there) in &places {
            let taken: Vec<String> =
                keys.iter().filter(|key| there.contains(key)).map(|key| format!("f:{key}")).collect();
            if is_ours && !taken.is_empty() {
                let owned = fields.entry(*place).or_insert_with(|| json!({}));
                owned.as_object_mut().into_iter().for_each(|owned| {
                    owned.extend(taken.iter().map(|key| (key.clone(), json!({}))));
                });
            } else if let Some(owned) = fields.get_mut(*place).and_then(Value::as_object_mut) {
                owned.retain(|key, _| !taken.contains(key));
            }
        }
    }
    entries
}

fn keys_of<V>(values: Option<&BTreeMap<String, V>>) -> BTreeSet<&String> {
    values.into_iter().flat_map(BTreeMap::keys).collect()
}

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(MANAGER) && entry.operation.as_deref() == Some(APPLY)
}

fn names(fields: Option<&Value>) -> Vec<String> {
    let keys = fields.and_then(Value::as_object).into_iter().flat_map(Map::keys);
    keys.filter_map(|key| key.strip_prefix("f:")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> ConfigMap {
        serde_json::from_value(json!({
            "metadata": { "name": "sim", "managedFields": [
                { "manager": MANAGER, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {
                    "f:data": { "f:grants.yaml": {} },
                    "f:metadata": { "f:labels": { "f:machinist.dev/plugin": {} } },
                } },
                { "manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {
                    "f:binaryData": { "f:plugin.wasm": {} }, "f:data": { "f:settings.json": {} },
                } },
                { "manager": "machinist", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {
                    "f:metadata": { "f:annotations": { "f:machinist.dev/status": {} } },
                } },
            ] },
            "data": { "grants.yaml": "", "settings.json": "{}" },
            "binaryData": { "plugin.wasm": "AGFzbQ==" },
        }))
        .expect("a ConfigMap")
    }

    #[test]
    fn what_a_push_owns_is_what_it_applied() {
        let owned = owned(&map());
        assert_eq!(owned.data, BTreeSet::from(["grants.yaml".to_owned()]));
        assert_eq!(owned.labels, BTreeSet::from(["machinist.dev/plugin".to_owned()]));
    }

    #[test]
    fn what_sign_wrote_is_ours_until_somebody_else_writes_it_too() {
        let mut map = map();
        let entry = |manager: &str| {
            let fields = json!({ "f:data": { "f:signature": {} } });
            serde_json::from_value(json!({ "manager": manager, "operation": "Update", "fieldsV1": fields }))
                .expect("an entry")
        };
        map.metadata.managed_fields.get_or_insert_default().push(entry(MANAGER));
        let both = BTreeSet::from(["grants.yaml".to_owned(), "signature".to_owned()]);
        assert_eq!(written_by_us(&map), both);
        map.metadata.managed_fields.get_or_insert_default().push(entry("kubectl"));
        assert_eq!(written_by_us(&map), BTreeSet::from(["grants.yaml".to_owned()]));
    }

    #[test]
    fn only_what_is_in_the_way_is_taken_over() {
        let mut taken = map();
        taken.metadata.managed_fields = Some(taken_over(&map(), &["plugin.wasm".to_owned()]));
        let entries = taken.metadata.managed_fields.as_deref().unwrap_or_default();
        let fields = |manager: &str| {
            let entry = entries.iter().find(|entry| entry.manager.as_deref() == Some(manager));
            entry.and_then(|entry| entry.fields_v1.clone()).expect("an entry").0
        };
        assert_eq!(fields(MANAGER)["f:binaryData"], json!({ "f:plugin.wasm": {} }));
        assert_eq!(fields("kubectl"), json!({ "f:binaryData": {}, "f:data": { "f:settings.json": {} } }));
        let status = json!({ "f:metadata": { "f:annotations": { "f:machinist.dev/status": {} } } });
        assert_eq!(fields("machinist"), status);
        // Our fields stay ours; of the others only those in the way are taken over.
        assert_eq!(owned(&taken), owned(&map()));
    }
}
