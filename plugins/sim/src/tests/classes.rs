//! Classes that the driver accepts and refuses.

use machinist_sdk::driver::Code;
use serde_json::{Value, json};

use super::harness::{Harness, class, request_of, spec};
use crate::spec::{SCHEMA, Spec, VolumeSpec, asks_for_initialize, read};

fn changed(field: &str, value: Value) -> Value {
    let mut spec = spec();
    spec[field] = value;
    spec
}

#[track_caller]
fn refused(spec: &Value, message: &str) {
    let error = read(&class(spec)).unwrap_err();
    assert_eq!((error.code, error.terminal), (Code::InvalidArgument, true));
    assert_eq!(error.message, message);
    // A class that is refused here causes no request in a create.
    let harness = Harness::new();
    assert_eq!(harness.create(&request_of(1, spec)).unwrap_err().message, message);
    assert_eq!(harness.requests(), 0);
}

#[test]
fn a_class_is_read_leniently() {
    let spec = json!({
        "zone": "sim-1a", "type": "sim.small", "image": "linux-1", "tags": { "team": "a" }, "initialize": true,
        "volumes": [{ "sizeGib": 20, "name": null, "keep": true }], "colour": "blue", "region": null,
    });
    let read = read(&class(&spec)).unwrap();
    let expected = Spec {
        zones: vec!["sim-1a".into()],
        kind: "sim.small".into(),
        image: "linux-1".into(),
        tags: [("team".to_owned(), "a".to_owned())].into(),
        volumes: vec![VolumeSpec { size_gib: 20, name: None }],
        initialize: true,
        interruptible: false,
    };
    assert_eq!(read.spec, expected);
    assert_eq!(
        read.warnings,
        [
            "providerSpec.colour is not a field and is ignored",
            "providerSpec.region is not a field and is ignored",
            "providerSpec.volumes[0].keep is not a field and is ignored",
        ]
    );
    let harness = Harness::new();
    harness.create(&request_of(1, &spec)).unwrap();
    assert_eq!(harness.live()[0].tags["team"], "a");
}

#[test]
fn null_is_as_good_as_nothing() {
    let spec = json!({
        "zone": "sim-1a", "type": "sim.small", "image": "linux-1", "tags": null, "volumes": null, "initialize": null,
    });
    let read = read(&class(&spec)).unwrap();
    assert!(read.warnings.is_empty() && read.spec.volumes.is_empty() && !read.spec.initialize);
}

#[test]
fn a_class_without_a_zone_takes_the_alternatives() {
    let mut class = class(&changed("zone", Value::Null));
    class.zones = vec!["sim-1b".into(), "sim-1c".into(), "sim-1b".into()];
    assert_eq!(read(&class).unwrap().spec.zones, ["sim-1b", "sim-1c"]);
}

#[test]
fn a_fault_names_its_field() {
    refused(&json!(null), "providerSpec.zone is required");
    refused(&json!([]), "providerSpec must be an object");
    refused(&changed("zone", json!("")), "providerSpec.zone must be a text that is not empty, got \"\"");
    refused(&changed("type", json!(7)), "providerSpec.type must be a text that is not empty, got 7");
    refused(&changed("image", json!(null)), "providerSpec.image is required");
    refused(
        &changed("initialize", json!("yes")),
        "providerSpec.initialize must be true or false, got \"yes\"",
    );
    refused(&changed("interruptible", json!(1)), "providerSpec.interruptible must be true or false, got 1");
    refused(&changed("tags", json!([])), "providerSpec.tags must be an object of texts, got []");
    refused(
        &changed("tags", json!({ "a": 1 })),
        "providerSpec.tags[\"a\"] must be a text of at most 256 bytes, got 1",
    );
    refused(
        &changed("tags", json!({ "a:b": "" })),
        "providerSpec.tags[\"a:b\"] must have a key of 1 to 128 bytes without a colon",
    );
    refused(
        &changed("tags", json!({ "cluster": "mine" })),
        "providerSpec.tags[\"cluster\"] is set by the driver: use another key",
    );
    let many: serde_json::Map<String, Value> =
        (0..48).map(|number| (number.to_string(), json!(""))).collect();
    refused(&changed("tags", json!(many)), "providerSpec.tags has 48 entries: at most 47 fit");
    refused(&changed("volumes", json!({})), "providerSpec.volumes must be a list, got {}");
    refused(&changed("volumes", json!([1])), "providerSpec.volumes[0] must be an object, got 1");
    refused(&changed("volumes", json!([{}])), "providerSpec.volumes[0].sizeGib is required");
    refused(
        &changed("volumes", json!([{ "sizeGib": 1 }, { "sizeGib": 1.5 }])),
        "providerSpec.volumes[1].sizeGib must be a whole number from 1 on, got 1.5",
    );
    refused(
        &changed("volumes", json!([{ "sizeGib": 1, "name": 2 }])),
        "providerSpec.volumes[0].name must be a text that is not empty, got 2",
    );
}

#[test]
fn text_that_is_not_json_says_where() {
    let mut class = class(&spec());
    class.spec = "{\n  nonsense".into();
    assert_eq!(read(&class).unwrap_err().message, "providerSpec is not JSON (line 2, column 3)");
    assert!(!asks_for_initialize(&class));
}

#[test]
fn the_most_tags_that_a_class_may_have_fit_into_the_cloud() {
    let tags: serde_json::Map<String, Value> =
        (0..47).map(|number| (format!("{number:0128}"), json!("v".repeat(256)))).collect();
    let harness = Harness::new();
    harness.create(&request_of(1, &changed("tags", json!(tags)))).unwrap();
    assert_eq!(harness.live()[0].tags.len(), 50);
}

#[test]
fn the_schema_knows_the_fields_that_are_read() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let properties =
        |value: &Value| -> Vec<String> { value["properties"].as_object().unwrap().keys().cloned().collect() };
    let fields = |spec: &Value| {
        let read = read(&class(spec)).unwrap();
        assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    };
    let mut all = spec();
    for name in properties(&schema) {
        all[&name] = all.get(&name).cloned().unwrap_or(Value::Null);
    }
    let volume: serde_json::Map<String, Value> = properties(&schema["properties"]["volumes"]["items"])
        .into_iter()
        .map(|name| (name, Value::Null))
        .collect();
    let mut volume = Value::Object(volume);
    volume["sizeGib"] = json!(1);
    all["volumes"] = json!([volume]);
    fields(&all);
    assert_eq!(properties(&schema).len(), 7);
}
