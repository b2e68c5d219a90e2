//! The shipped grants allow what the driver needs, and no more.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::harness::{World, class, request_of, spec_with};
use crate::AzureDriver;

fn grants() -> Value {
    serde_yaml_ng::from_str(include_str!("../../grants.yaml")).unwrap()
}

/// A life with every kind of request: an agreement, a disk with an image, a change of delete options, a restart.
fn requests() -> BTreeSet<(String, String)> {
    let mut spec = spec_with(
        "/properties/storageProfile/imageReference",
        json!({ "urn": "kinvolk:flatcar-paid:flatcar:3815.2.0" }),
    );
    spec["properties"]["storageProfile"]["dataDisks"] =
        json!([{ "lun": 0, "diskSizeGB": 1, "storageAccountType": "x", "imageRef": { "id": "/x" } }]);
    let world = World::plain();
    let mut request = request_of(1, &spec);
    world.create_to_end(&mut request).unwrap();
    world.status(&request).unwrap();
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    driver.reboot(&request).unwrap();
    driver.node_capacity(&class(&spec)).unwrap();
    world.list(&class(&spec), None).unwrap();
    world.cloud().change(azure_cloud::Kind::Vm, "nodes", "machine-1", |vm| {
        vm.body["properties"]["storageProfile"]["osDisk"]["deleteOption"] = json!("Detach");
    });
    world.delete_to_end(&mut request).unwrap();
    world.create_to_end(&mut request_of(2, &spec)).unwrap();
    world.cloud().options.groups.clear();
    world.delete_to_end(&mut request_of(2, &spec)).unwrap();
    world.sent().into_iter().collect()
}

fn allows(rule: &Value, method: &str, path: &str) -> bool {
    let methods = rule["methods"].as_array().unwrap();
    let fits = |known: &Value| match known.as_str() {
        Some(prefix) => path.starts_with(prefix),
        None => known["exact"] == json!(path),
    };
    rule["host"] == "management.azure.com"
        && methods.contains(&json!(method))
        && rule["paths"].as_array().unwrap().iter().any(fits)
}

#[test]
fn every_request_is_granted_and_every_rule_and_method_is_needed() {
    let grants = grants();
    let rules = grants["egress"].as_array().unwrap();
    let requests = requests();
    for (method, path) in &requests {
        assert!(rules.iter().any(|rule| allows(rule, method, path)), "{method} {path}");
    }
    for rule in rules.iter().filter(|rule| rule["host"] == "management.azure.com") {
        for method in rule["methods"].as_array().unwrap() {
            let method = method.as_str().unwrap();
            let used = requests.iter().any(|(sent, path)| sent == method && allows(rule, method, path));
            assert!(used, "{method} in {rule}");
        }
        for path in rule["paths"].as_array().unwrap() {
            let mut alone = rule.clone();
            alone["paths"] = json!([path]);
            assert!(requests.iter().any(|(method, sent)| allows(&alone, method, sent)), "{path}");
        }
    }
}

#[test]
fn user_data_is_one_field_and_no_credential_is_revealed() {
    let grants = grants();
    assert_eq!(grants["secrets"][0]["places"], json!([{ "json": "/properties/osProfile/customData" }]));
    assert_eq!(grants["reveal"], json!(["subscriptionID", "azureSubscriptionId"]));
    assert_eq!(grants["auth"][0]["scopes"], json!(["https://management.azure.com/.default"]));
}
