//! The shipped grants allow what the driver needs, and no more.

use std::collections::BTreeSet;

use serde_json::json;

use super::harness::{Stage, class, request_of, spec_with};
use crate::AzureDriver;

const GRANTS: &str = include_str!("../../grants.yaml");

/// A rule of the egress to Azure Resource Manager.
#[derive(Clone, Debug, Default)]
struct Rule {
    methods: Vec<String>,
    /// Prefixes, or one path alone.
    paths: Vec<String>,
}

impl Rule {
    fn allows(&self, method: &str, path: &str) -> bool {
        let fits = |known: &String| match known.strip_prefix("exact: ") {
            Some(exact) => path == exact,
            None => path.starts_with(known),
        };
        self.methods.iter().any(|known| known == method) && self.paths.iter().any(fits)
    }
}

/// The rules of the shipped grants, which are written one field a line.
fn rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for line in GRANTS.lines().map(str::trim) {
        let entries = |list: &str| -> Vec<String> {
            let list = list.trim_matches(['[', ']']);
            list.split(", ").map(|entry| entry.trim_matches(['{', '}', ' ']).to_owned()).collect()
        };
        if line == "- host: management.azure.com" {
            rules.push(Rule::default());
        }
        let Some(rule) = rules.last_mut() else { continue };
        match line.split_once(": ") {
            Some(("methods", list)) if rule.methods.is_empty() => rule.methods = entries(list),
            Some(("paths", list)) if rule.paths.is_empty() => rule.paths = entries(list),
            _ => {}
        }
    }
    rules
}

/// A life with every kind of request: an agreement, a disk with an image, a change of delete options, a restart.
fn requests() -> BTreeSet<(String, String)> {
    let mut spec = spec_with(
        "/properties/storageProfile/imageReference",
        json!({ "urn": "kinvolk:flatcar-paid:flatcar:3815.2.0" }),
    );
    spec["properties"]["storageProfile"]["dataDisks"] = json!([{ "lun": 0, "diskSizeGB": 1, "storageAccountType": "StandardSSD_LRS", "imageRef": { "id": "/x" } }]);
    let world = Stage::plain();
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

#[test]
fn every_request_is_granted_and_every_rule_and_method_is_needed() {
    let (rules, requests) = (rules(), requests());
    assert_eq!(rules.len(), 2, "{rules:?}");
    for (method, path) in &requests {
        assert!(rules.iter().any(|rule| rule.allows(method, path)), "{method} {path}");
    }
    for rule in &rules {
        for method in &rule.methods {
            let alone = Rule { methods: vec![method.clone()], ..rule.clone() };
            assert!(requests.iter().any(|(sent, path)| alone.allows(sent, path)), "{alone:?}");
        }
        for path in &rule.paths {
            let alone = Rule { paths: vec![path.clone()], ..rule.clone() };
            assert!(requests.iter().any(|(method, sent)| alone.allows(method, sent)), "{alone:?}");
        }
    }
}

#[test]
fn user_data_is_one_field_and_no_credential_is_revealed() {
    let has = |line: &str| GRANTS.lines().any(|own| own.trim() == line);
    assert!(has("places: [{ json: /properties/osProfile/customData }]"));
    assert!(has("reveal: [subscriptionID, azureSubscriptionId]"));
    assert!(has("scopes: [\"https://management.azure.com/.default\"]"));
}
