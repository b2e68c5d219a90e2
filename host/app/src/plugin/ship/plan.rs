//! Plans the objects that a push writes, from the packed component and the existing ConfigMap. Pure.

use std::collections::BTreeMap;

use anyhow::{bail, ensure};
use bytes::Bytes;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::parts::{Index, split};
use machinist_plugin_host::{Digest, Encoding};

use crate::plugin::file::Texts;
use crate::plugin::ship::ownership::{owned, written_by_us};
use crate::plugin::ship::signature::kept;

/// A component to push, with its settings.
pub(crate) struct PushRequest<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The value of the label, by the exports of the component.
    pub(crate) kind: &'static str,
    pub(crate) plugin_name: Option<&'a str>,
    pub(crate) texts: &'a Texts,
    pub(crate) encoding: Encoding,
    pub(crate) packed: Bytes,
    /// The reference of the artifact, if the ConfigMap names one instead of holding the component.
    pub(crate) artifact: Option<String>,
    pub(crate) digest: Digest,
    pub(crate) part_bytes: usize,
}

/// The objects, in the order in which they are written.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<ConfigMap>,
    /// Written last: the switch.
    pub(crate) index: ConfigMap,
}

/// Keys that hold the component, belong to it, or contradict it.
const CONTENT: [&str; 12] = [
    PluginKeys::INDEX_KEY,
    PluginKeys::OCI_KEY,
    PluginKeys::SIGNATURE,
    PluginKeys::BUNDLE,
    PluginKeys::BUNDLE_SIGNATURE,
    "plugin.wasm",
    "plugin.wasm.gz",
    "plugin.wasm.zst",
    PluginKeys::GRANTS_YAML,
    PluginKeys::GRANTS_JSON,
    PluginKeys::TERMS_YAML,
    PluginKeys::TERMS_JSON,
];
/// Of a label's value, which names a part's index.
const MOST_NAME: usize = 63;

/// Decides. `there` is the ConfigMap of that name.
///
/// # Errors
/// When the ConfigMap that is there is not ours to change, or the parts would be too many.
pub(crate) fn plan(request: &PushRequest<'_>, there: Option<&ConfigMap>) -> anyhow::Result<Plan> {
    if let Some(there) = there {
        is_same_kind(request, there)?;
    }
    let mut labels = BTreeMap::from([(PluginKeys::KIND_LABEL.to_owned(), request.kind.to_owned())]);
    let mut data = BTreeMap::new();
    if let Some(there) = there {
        // Server-side apply would remove keys of an earlier push that this one does not name.
        let owned = owned(there);
        let own = |key: &str| owned.data.contains(key).then(|| there.data.as_ref()?.get(key)).flatten();
        for key in [
            PluginKeys::SETTINGS,
            PluginKeys::GRANTS_YAML,
            PluginKeys::GRANTS_JSON,
            PluginKeys::ROLLOUT_YAML,
            PluginKeys::TERMS_YAML,
            PluginKeys::TERMS_JSON,
            PluginKeys::PULL_SECRET_KEY,
        ] {
            data.extend(own(key).map(|text| (key.to_owned(), text.clone())));
        }
        // A signature over the component holds for as long as the component is the same.
        let there_data = there.data.as_ref();
        let is_same = there_data.and_then(|data| data.get(PluginKeys::SHA256)) == Some(&request.digest.hex());
        if is_same && request.artifact.is_none() {
            let ours = written_by_us(there);
            let signature = there_data
                .and_then(|data| data.get(PluginKeys::SIGNATURE))
                .filter(|_| ours.contains(PluginKeys::SIGNATURE));
            data.extend(signature.map(|signature| (PluginKeys::SIGNATURE.to_owned(), signature.clone())));
        }
        if owned.labels.contains(PluginKeys::NAME_LABEL) {
            let name = there.metadata.labels.as_ref().and_then(|labels| labels.get(PluginKeys::NAME_LABEL));
            labels.extend(name.map(|name| (PluginKeys::NAME_LABEL.to_owned(), name.clone())));
        }
    }
    if let Some(name) = request.plugin_name {
        labels.insert(PluginKeys::NAME_LABEL.to_owned(), name.to_owned());
    }
    request.texts.replace(&mut data);
    data.insert(PluginKeys::SHA256.to_owned(), request.digest.hex());
    let bundle = there.and_then(|there| kept((request.name, request.digest), there, (&data, &labels)));
    data.extend(bundle.into_iter().flatten());
    let room = request.part_bytes.saturating_sub(data.values().map(String::len).sum());
    let meta = ObjectMeta {
        // Another object of that name, made since we looked, is not the one that was checked.
        uid: there.and_then(|there| there.metadata.uid.clone()),
        ..meta(request, request.name, labels)
    };
    if let Some(artifact) = &request.artifact {
        data.insert(PluginKeys::OCI_KEY.to_owned(), artifact.clone());
        let index = ConfigMap { metadata: meta, data: Some(data), ..ConfigMap::default() };
        return Ok(Plan { parts: Vec::new(), index });
    }
    if request.packed.len() <= room {
        let component = (request.encoding.key().to_owned(), ByteString(request.packed.to_vec()));
        let binary_data = Some(BTreeMap::from([component]));
        let index = ConfigMap { metadata: meta, data: Some(data), binary_data, ..ConfigMap::default() };
        return Ok(Plan { parts: Vec::new(), index });
    }
    let parts = in_parts(request, &mut data)?;
    Ok(Plan { parts, index: ConfigMap { metadata: meta, data: Some(data), ..ConfigMap::default() } })
}

fn in_parts(
    request: &PushRequest<'_>,
    data: &mut BTreeMap<String, String>,
) -> anyhow::Result<Vec<ConfigMap>> {
    let count = request.packed.len().div_ceil(request.part_bytes.max(1));
    ensure!(
        count <= Index::MOST_PARTS,
        "{} bytes would be {count} parts, and {} are the most: choose a --part-size of at least {}, or pack \
         them with --encoding zstd",
        request.packed.len(),
        Index::MOST_PARTS,
        request.packed.len().div_ceil(Index::MOST_PARTS)
    );
    ensure!(
        request.name.len() <= MOST_NAME,
        "--configmap is the value of a label on each part, and so has at most {MOST_NAME} characters"
    );
    let (index, parts) = split(&request.packed, request.encoding, request.part_bytes, &prefix(request));
    data.insert(PluginKeys::INDEX_KEY.to_owned(), index.to_json());
    let part = |(name, part): &(String, machinist_plugin_host::parts::Part)| ConfigMap {
        metadata: meta(
            request,
            name,
            [(PluginKeys::KIND_LABEL, PluginKeys::PART_KIND), (PluginKeys::INDEX_LABEL, request.name)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        ),
        data: Some(BTreeMap::from([(PluginKeys::PLACE_KEY.to_owned(), part.place.to_string())])),
        binary_data: Some(BTreeMap::from([(
            PluginKeys::BYTES_KEY.to_owned(),
            ByteString(part.bytes.to_vec()),
        )])),
        // Its name says what is in it.
        immutable: Some(true),
    };
    Ok(parts.iter().map(part).collect())
}

/// Begins the names of the parts: no two versions share one, nor do two ways of packing and cutting one version.
fn prefix(request: &PushRequest<'_>) -> String {
    let layout = [&request.part_bytes.to_le_bytes()[..], &request.packed].concat();
    let (digest, layout) = (request.digest.hex(), Digest::of(&layout).hex());
    format!("{}-{digest:.12}-{layout:.8}", request.name)
}

fn meta(request: &PushRequest<'_>, name: &str, labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(request.namespace.to_owned()),
        labels: Some(labels),
        ..ObjectMeta::default()
    }
}

fn is_same_kind(request: &PushRequest<'_>, there: &ConfigMap) -> anyhow::Result<()> {
    let (name, own) = (request.name, request.kind);
    let kind = there.metadata.labels.as_ref().and_then(|labels| labels.get(PluginKeys::KIND_LABEL));
    match kind.map(String::as_str) {
        Some(kind) if kind == own => Ok(()),
        Some(kind) => bail!("ConfigMap {name} is a {kind}, not a {own}: choose another --configmap"),
        None => bail!(
            "ConfigMap {name} is no plugin, and is not overwritten: choose another --configmap, or label it \
             {}={own} if it is to become one",
            PluginKeys::KIND_LABEL
        ),
    }
}

/// Keys that the plan does not have and that contradict it, in what the API server would make of it: others own them.
pub(crate) fn in_the_way(plan: &Plan, result: &ConfigMap) -> Vec<String> {
    let keys = |map: &ConfigMap| -> Vec<String> {
        let data = map.data.iter().flat_map(BTreeMap::keys);
        data.chain(map.binary_data.iter().flat_map(BTreeMap::keys)).cloned().collect()
    };
    let planned = keys(&plan.index);
    // Of a document in two forms, the one that others wrote is in the way only when there is one of ours.
    let is_other_form = |key: &str| match key {
        PluginKeys::GRANTS_YAML | PluginKeys::GRANTS_JSON => {
            !planned.iter().any(|key| key == PluginKeys::GRANTS_YAML || key == PluginKeys::GRANTS_JSON)
        }
        PluginKeys::TERMS_YAML | PluginKeys::TERMS_JSON => {
            !planned.iter().any(|key| key == PluginKeys::TERMS_YAML || key == PluginKeys::TERMS_JSON)
        }
        _ => false,
    };
    let contradicts =
        |key: &String| CONTENT.contains(&key.as_str()) && !planned.contains(key) && !is_other_form(key);
    keys(result).into_iter().filter(contradicts).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plugin::ship::ownership::MANAGER;

    fn texts(grants: Option<&str>) -> Texts {
        Texts { grants: grants.map(str::to_owned), ..Texts::default() }
    }

    fn request<'a>(texts: &'a Texts, part_bytes: usize) -> PushRequest<'a> {
        PushRequest {
            namespace: "machinist-system",
            name: "sim",
            kind: PluginKeys::DRIVER_KIND,
            plugin_name: None,
            texts,
            encoding: Encoding::Zstd,
            packed: Bytes::from_static(b"a packed component"),
            artifact: None,
            digest: Digest::of(b"component"),
            part_bytes,
        }
    }

    fn there(labels: &serde_json::Value) -> ConfigMap {
        let fields = json!({ "f:data": { "f:grants.yaml": {} }, "f:metadata": { "f:labels": { "f:machinist.dev/plugin-name": {} } } });
        serde_json::from_value(json!({
            "metadata": {
                "name": "sim", "uid": "1", "labels": labels,
                "managedFields": [{ "manager": MANAGER, "operation": "Apply", "fieldsV1": fields }],
            },
            "data": { "grants.yaml": "egress: []", "settings.json": "{}" },
        }))
        .expect("a ConfigMap")
    }

    #[test]
    fn what_fits_is_one_configmap_and_what_does_not_is_parts_and_an_index() {
        let texts = texts(Some("egress: []"));
        let whole = plan(&request(&texts, 1_000), None).expect("fits");
        assert!(whole.parts.is_empty());
        let keys = whole.index.binary_data.expect("the component").into_keys().collect::<Vec<_>>();
        assert_eq!(keys, ["plugin.wasm.zst"]);
        let cut = plan(&request(&texts, 5), None).expect("fits");
        assert_eq!(cut.parts.len(), 4);
        assert!(cut.index.binary_data.is_none());
        let names: Vec<_> = cut.parts.iter().filter_map(|part| part.metadata.name.clone()).collect();
        assert!(names[3].starts_with("sim-") && names[3].ends_with("-4"), "{names:?}");
        let index = &cut.index.data.expect("data")[PluginKeys::INDEX_KEY];
        assert!(names.iter().all(|name| index.contains(name)), "{index}");
        // Nothing of another cut is ever overwritten.
        let other = plan(&request(&texts, 6), None).expect("fits");
        assert!(other.parts.iter().all(|part| !names.contains(part.metadata.name.as_ref().expect("a name"))));
    }

    #[test]
    fn what_is_in_a_registry_is_named() {
        let texts = texts(None);
        let mut named = request(&texts, 5);
        named.artifact = Some("ghcr.io/acme/sim@sha256:ab".to_owned());
        let plan = plan(&named, None).expect("fits");
        let data = plan.index.data.clone().expect("data");
        assert_eq!(data[PluginKeys::OCI_KEY], "ghcr.io/acme/sim@sha256:ab");
        assert!(plan.parts.is_empty() && plan.index.binary_data.is_none());
        let result: ConfigMap = serde_json::from_value(json!({
            "data": { "oci": "", "signature": "", "grants.json": "{}" },
            "binaryData": { "plugin.wasm": "" },
        }))
        .expect("a ConfigMap");
        assert_eq!(in_the_way(&plan, &result), ["signature", "plugin.wasm"]);
        let held = super::plan(&request(&texts, 1_000), None).expect("fits");
        assert_eq!(in_the_way(&held, &result), ["oci", "signature", "plugin.wasm"]);
    }

    #[test]
    fn too_many_parts_are_refused_with_the_size_that_would_do() {
        let texts = texts(None);
        let mut many = request(&texts, 1);
        many.packed = Bytes::from(vec![0; 100]);
        let error = plan(&many, None).expect_err("too many").to_string();
        assert!(error.contains("100 parts") && error.contains("at least 4"), "{error}");
    }

    #[test]
    fn what_is_not_given_stays_as_it_was() {
        let there =
            there(&json!({ "machinist.dev/plugin": "driver", "machinist.dev/plugin-name": "simulated" }));
        let none = texts(None);
        let kept = plan(&request(&none, 1_000), Some(&there)).expect("fits").index;
        assert_eq!(kept.data.as_ref().expect("data")[PluginKeys::GRANTS_YAML], "egress: []");
        assert_eq!(kept.metadata.labels.expect("labels")[PluginKeys::NAME_LABEL], "simulated");
        // Somebody else's: it stays without us.
        assert!(!kept.data.expect("data").contains_key(PluginKeys::SETTINGS));
        let other = texts(Some("limits: { cpu_ms: 5 }"));
        let given = plan(&request(&other, 1_000), Some(&there)).expect("fits").index;
        assert_eq!(given.data.expect("data")[PluginKeys::GRANTS_YAML], "limits: { cpu_ms: 5 }");
    }

    #[test]
    fn a_signature_stays_with_the_component_that_it_is_about() {
        let none = texts(None);
        let request = request(&none, 1_000);
        let mut there = there(&json!({ "machinist.dev/plugin": "driver" }));
        let fields = json!({ "f:data": { "f:signature": {} } });
        there.metadata.managed_fields = serde_json::from_value(
            json!([{ "manager": MANAGER, "operation": "Update", "fieldsV1": fields }]),
        )
        .expect("managed fields");
        let mut signature_beside = |digest: String| {
            let data = [
                (PluginKeys::SIGNATURE.to_owned(), "MEUC".to_owned()),
                (PluginKeys::SHA256.to_owned(), digest),
            ];
            there.data = Some(BTreeMap::from(data));
            let index = plan(&request, Some(&there)).expect("fits").index;
            index.data.expect("data").get(PluginKeys::SIGNATURE).cloned()
        };
        assert_eq!(signature_beside(request.digest.hex()), Some("MEUC".to_owned()));
        assert_eq!(signature_beside(Digest::of(b"another").hex()), None);
    }

    #[test]
    fn a_policy_keeps_its_terms_and_does_not_take_the_place_of_a_driver() {
        let none = texts(None);
        let policy = PushRequest { kind: PluginKeys::POLICY_KIND, ..request(&none, 1_000) };
        let error =
            plan(&policy, Some(&there(&json!({ "machinist.dev/plugin": "driver" })))).expect_err("refused");
        assert!(error.to_string().contains("is a driver, not a health-policy"), "{error}");
        let mut there = there(&json!({ "machinist.dev/plugin": "health-policy" }));
        let fields = json!({ "f:data": { "f:policy.yaml": {} } });
        there.metadata.managed_fields =
            serde_json::from_value(json!([{ "manager": MANAGER, "operation": "Apply", "fieldsV1": fields }]))
                .expect("managed fields");
        there.data = Some(BTreeMap::from([(PluginKeys::TERMS_YAML.to_owned(), "mode: enforce".to_owned())]));
        let index = plan(&policy, Some(&there)).expect("fits").index;
        assert_eq!(index.data.expect("data")[PluginKeys::TERMS_YAML], "mode: enforce");
        assert_eq!(index.metadata.labels.expect("labels")[PluginKeys::KIND_LABEL], "health-policy");
    }

    #[test]
    fn what_is_no_driver_is_not_overwritten() {
        let texts = texts(None);
        let refused =
            |labels| plan(&request(&texts, 99), Some(&there(&labels))).expect_err("refused").to_string();
        assert!(refused(json!({})).contains("is no plugin, and is not overwritten"));
        assert!(refused(json!({ "machinist.dev/plugin": "part" })).contains("is a part, not a driver"));
    }

    #[test]
    fn what_others_wrote_and_contradicts_is_named() {
        let texts = texts(None);
        let planned = plan(&request(&texts, 5), None).expect("fits");
        let result: ConfigMap = serde_json::from_value(json!({
            "data": { "parts.json": "", "sha256": "", "grants.json": "{}" },
            "binaryData": { "plugin.wasm": "" },
        }))
        .expect("a ConfigMap");
        assert_eq!(in_the_way(&planned, &result), ["plugin.wasm"]);
    }
}
