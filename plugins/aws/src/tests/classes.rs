//! Classes that the driver accepts and refuses.

use machinist_sdk::driver::Code;
use serde_json::{Value, json};

use super::harness::{Harness, class, request_of, spec, spec_with};
use crate::class::spec::{Iam, Market, SCHEMA, read, read_in_part};
use crate::tags::TagKeys;

/// Returns the problems of a class, which are all reported at once.
fn problems(spec: &Value) -> Vec<String> {
    let error = read(&class(spec)).unwrap_err();
    assert_eq!((error.code, error.terminal), (Code::InvalidArgument, true));
    let reported = error.message.strip_prefix("the MachineClass's providerSpec is invalid: ").unwrap();
    reported.split("; ").map(str::to_owned).collect()
}

#[track_caller]
fn refused(fields: Value, expected: &[&str]) {
    assert_eq!(problems(&spec_with(fields)), expected);
}

#[track_caller]
fn taken(fields: Value) {
    let error = read(&class(&spec_with(fields))).err();
    assert!(error.is_none(), "{error:?}");
}

fn entries(fields: Value) -> serde_json::Map<String, Value> {
    let Value::Object(fields) = fields else { panic!("an object") };
    fields
}

fn disk(fields: Value) -> Value {
    let mut disk = json!({ "ebs": { "volumeType": "gp3", "volumeSize": 50 } });
    for (name, value) in entries(fields) {
        if name == "deviceName" { disk[name] = value } else { disk["ebs"][name] = value }
    }
    json!({ "blockDevices": [disk] })
}

fn interface(fields: Value) -> Value {
    let mut interface = json!({ "subnetID": "subnet-1", "securityGroupIDs": ["sg-1"] });
    for (name, value) in entries(fields) {
        interface[name] = value;
    }
    json!({ "networkInterfaces": [interface] })
}

#[test]
fn an_empty_class_lacks_all_that_is_needed() {
    let expected = [
        "ami is missing",
        "region is missing",
        "machineType is missing",
        "iam.name or iam.arn is missing",
        "blockDevices is missing",
        "networkInterfaces is missing",
        "tags has no key that contains kubernetes.io/cluster/",
        "tags has no key that contains kubernetes.io/role/",
    ];
    for empty in [json!({}), json!(null), json!({ "ami": null, "tags": null, "iam": {} })] {
        assert_eq!(problems(&empty), expected);
    }
}

#[test]
fn what_is_refused_costs_no_request() {
    let harness = Harness::new();
    let spec = spec_with(json!({ "machineType": "", "networkInterfaces": [{}] }));
    let error = harness.create(&request_of(1, &spec)).unwrap_err();
    assert!(error.message.contains("machineType is missing; networkInterfaces[0].subnetID is missing"));
    assert!(harness.sent().is_empty());
}

#[test]
fn rules_of_the_top() {
    refused(
        json!({ "region": "a.evil" }),
        &["region must be of lower-case letters, digits and hyphens, got \"a.evil\""],
    );
    refused(json!({ "region": 1 }), &["region must be a string, got 1"]);
    refused(json!({ "iam": { "name": "a", "arn": "b" } }), &["iam.name and iam.arn exclude each other"]);
    refused(
        json!({ "tags": { "kubernetes.io/cluster/a": "" } }),
        &["tags has no key that contains kubernetes.io/role/"],
    );
    refused(
        json!({ "srcAndDstChecksEnabled": "no" }),
        &["srcAndDstChecksEnabled must be true or false, got \"no\""],
    );
    assert_eq!(problems(&json!([])).first().unwrap(), "providerSpec must be an object, got a list");
    taken(json!({ "iam": { "arn": "b" }, "keyName": "", "monitoring": true, "apiVersion": "v1" }));
    let mut tags = spec()["tags"].clone();
    for number in 0..46 {
        tags[number.to_string()] = json!("");
    }
    refused(json!({ "tags": tags }), &["tags has 48 entries: at most 47 fit beside the driver's own"]);
}

#[test]
fn rules_of_volumes() {
    let path = "blockDevices[0].ebs";
    refused(json!({ "blockDevices": [] }), &["blockDevices is missing"]);
    refused(json!({ "blockDevices": [{}] }), &["blockDevices[0].ebs is missing"]);
    refused(disk(json!({ "volumeType": "" })), &[&format!("{path}.volumeType is missing")]);
    let types = "gp2, gp3, io1, io2, st1, sc1, standard";
    refused(
        disk(json!({ "volumeType": "tape" })),
        &[&format!("{path}.volumeType must be one of {types}, got \"tape\"")],
    );
    refused(
        disk(json!({ "volumeSize": 0 })),
        &[&format!("{path}.volumeSize must be more than 0 (GiB), got 0")],
    );
    refused(disk(json!({ "iops": -1 })), &[&format!("{path}.iops must not be negative, got -1")]);
    refused(
        disk(json!({ "volumeType": "io1" })),
        &[&format!("{path}.iops is missing: volumeType io1 needs it")],
    );
    refused(disk(json!({ "throughput": 0 })), &[&format!("{path}.throughput must be more than 0, got 0")]);
    taken(disk(json!({ "volumeType": "io1", "iops": 100, "throughput": null, "deviceName": "anything" })));
}

#[test]
fn several_volumes_have_one_root_and_names_of_their_own() {
    let disks = |names: &[&str]| {
        let disk =
            |name: &&str| json!({ "deviceName": name, "ebs": { "volumeType": "gp3", "volumeSize": 1 } });
        json!({ "blockDevices": names.iter().map(disk).collect::<Vec<_>>() })
    };
    taken(disks(&["/root", "/dev/sdf"]));
    refused(
        disks(&["/dev/sdf", "/dev/sdg"]),
        &["blockDevices has no deviceName /root: with several devices, one is the root"],
    );
    refused(disks(&["/root", "/root"]), &["blockDevices[1].deviceName /root is there twice"]);
    refused(
        disks(&["/root", "/dev/sdf", "/dev/sdf"]),
        &["blockDevices[2].deviceName /dev/sdf is there twice"],
    );
    refused(
        disks(&["/root", "sdf"]),
        &["blockDevices[1].deviceName must be /root, /dev/sd[a-z] or /dev/xvd[a-c][a-z], got \"sdf\""],
    );
}

#[test]
fn rules_of_interfaces() {
    let path = "networkInterfaces[0]";
    refused(json!({ "networkInterfaces": null }), &["networkInterfaces is missing"]);
    refused(
        json!({ "networkInterfaces": [{}] }),
        &["networkInterfaces[0].subnetID is missing", "networkInterfaces[0].securityGroupIDs is missing"],
    );
    refused(
        interface(json!({ "securityGroupIDs": ["sg-1", " "] })),
        &[&format!("{path}.securityGroupIDs[1] is blank")],
    );
    refused(
        interface(json!({ "securityGroupIDs": [null] })),
        &[&format!("{path}.securityGroupIDs[0] is blank")],
    );
    refused(
        interface(json!({ "interfaceType": "branch" })),
        &[&format!("{path}.interfaceType must be one of interface, efa, efa-only, got \"branch\"")],
    );
    refused(
        interface(json!({ "deviceIndex": -1 })),
        &[&format!("{path}.deviceIndex must not be negative, got -1")],
    );
    refused(
        interface(json!({ "networkCardIndex": -1 })),
        &[&format!("{path}.networkCardIndex must not be negative, got -1")],
    );
    taken(interface(
        json!({ "interfaceType": "", "deviceIndex": 3, "networkCardIndex": 0, "ipv6PrefixCount": -1 }),
    ));
}

#[test]
fn rules_of_the_market_and_of_reservations() {
    refused(json!({ "instanceMarketOptions": {} }), &["instanceMarketOptions.marketType is missing"]);
    refused(
        json!({ "instanceMarketOptions": { "marketType": "bazaar" } }),
        &[
            "instanceMarketOptions.marketType must be one of spot, capacity-block, interruptible-capacity-reservation, got \"bazaar\"",
        ],
    );
    let reservation = |fields: Value| json!({ "capacityReservation": fields });
    let at = "capacityReservation.capacityReservation";
    refused(
        reservation(json!({ "capacityReservationId": "a", "capacityReservationResourceGroupArn": "b" })),
        &[&format!("{at}Id and {at}ResourceGroupArn exclude each other")],
    );
    refused(
        reservation(json!({ "capacityReservationPreference": "open", "capacityReservationId": "a" })),
        &[&format!("{at}Preference excludes {at}Id and {at}ResourceGroupArn")],
    );
    taken(reservation(json!({ "capacityReservationPreference": "open" })));
    let market = |fields: Value| read(&class(&spec_with(fields))).unwrap().0.market;
    assert_eq!(market(json!({ "spotPrice": "0.1" })), Market::Spot { max_price: Some("0.1".into()) });
    assert_eq!(market(json!({ "spotPrice": "" })), Market::Spot { max_price: None });
    assert_eq!(market(json!({ "spotPrice": null })), Market::OnDemand);
    let both = json!({ "spotPrice": "0.1", "instanceMarketOptions": { "marketType": "capacity-block" } });
    assert_eq!(market(both), Market::Named("capacity-block".into()));
}

#[test]
fn rules_of_metadata_processor_and_placement() {
    let metadata = |fields: Value| json!({ "instanceMetadataOptions": fields });
    let at = "instanceMetadataOptions";
    refused(
        metadata(json!({ "httpEndpoint": "on" })),
        &[&format!("{at}.httpEndpoint must be one of enabled, disabled, got \"on\"")],
    );
    refused(
        metadata(json!({ "httpTokens": "on" })),
        &[&format!("{at}.httpTokens must be one of required, optional, got \"on\"")],
    );
    refused(
        metadata(json!({ "httpProtocolIpv6": "on" })),
        &[&format!("{at}.httpProtocolIpv6 must be one of enabled, disabled, got \"on\"")],
    );
    refused(
        metadata(json!({ "httpPutResponseHopLimit": 65 })),
        &[&format!("{at}.httpPutResponseHopLimit must be 0 to 64, got 65")],
    );
    taken(metadata(json!({ "httpEndpoint": "", "httpTokens": "required", "httpPutResponseHopLimit": 64 })));

    let cpu = |fields: Value| json!({ "cpuOptions": fields });
    let lacking = "cpuOptions.coreCount and cpuOptions.threadsPerCore go together: one is missing";
    refused(cpu(json!({ "coreCount": 2 })), &[lacking]);
    refused(cpu(json!({ "threadsPerCore": 2 })), &[lacking]);
    refused(
        cpu(json!({ "coreCount": 2, "threadsPerCore": 3 })),
        &["cpuOptions.threadsPerCore must be 1 or 2, got 3"],
    );
    refused(
        cpu(json!({ "amdSevSnp": "on" })),
        &["cpuOptions.amdSevSnp must be one of enabled, disabled, got \"on\""],
    );
    taken(cpu(json!({ "amdSevSnp": "enabled" })));

    let placement = |fields: Value| json!({ "placement": fields });
    refused(placement(json!({ "hostId": "h-1" })), &["placement.hostId needs placement.tenancy host"]);
    refused(
        placement(json!({ "tenancy": "shared" })),
        &["placement.tenancy must be one of default, dedicated, host, got \"shared\""],
    );
    refused(
        placement(json!({ "affinity": "near" })),
        &["placement.affinity must be one of default, host, got \"near\""],
    );
    refused(
        placement(json!({ "partitionNumber": 0 })),
        &["placement.partitionNumber must be at least 1, got 0"],
    );
    taken(placement(json!({ "hostId": "h-1", "tenancy": "host", "partitionNumber": 1 })));
}

#[test]
fn a_class_is_read_without_regard_to_case() {
    let text = spec().to_string().replace("machineType", "MACHINETYPE").replace("subnetID", "subnetId");
    let mut shouted = class(&spec());
    shouted.spec = text;
    assert_eq!(read(&shouted).unwrap(), read(&class(&spec())).unwrap());
    assert_eq!(read(&shouted).unwrap().0.iam, Some(Iam::Name("nodes".into())));
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let mut tags = spec()["tags"].clone();
    tags["Name"] = json!("mine");
    let fields = json!({
        "colour": 1, "ebsOptimized": true, "monitoring": false, "spotPrice": "", "tags": tags,
        "blockDevices": [{ "noDevice": "x", "ebs": { "volumeType": "gp2", "volumeSize": 1, "kmsKeyID": "k" } }],
    });
    let (spec, warnings) = read(&class(&spec_with(fields))).unwrap();
    let expected = [
        "ebsOptimized has no effect",
        "blockDevices[0].noDevice has no effect",
        "blockDevices[0].ebs.kmsKeyID has no effect unless encrypted is true",
        "tags[\"Name\"] is set by the driver, the class's value is ignored",
        "spotPrice is deprecated: use instanceMarketOptions.marketType spot",
        "colour is not a field and is ignored",
    ];
    assert_eq!(warnings, expected);
    assert_eq!((spec.disks[0].kms_key.as_ref(), spec.tags.contains_key("Name")), (None, false));
}

#[test]
fn of_a_broken_class_the_rest_is_read() {
    let spec = read_in_part(&class(&spec_with(json!({ "ami": 7, "iam": null, "blockDevices": "none" }))));
    assert_eq!(spec.usable_region(), Some("eu-west-1"));
    let keys =
        TagKeys { cluster: "kubernetes.io/cluster/shoot".into(), role: "kubernetes.io/role/node".into() };
    assert_eq!(spec.tag_keys(), Some(keys));
    let mut nonsense = class(&json!(null));
    for text in ["", "{", "nonsense", "[1, 2]"] {
        nonsense.spec = text.into();
        assert_eq!(read_in_part(&nonsense).usable_region(), None);
        assert!(!read_in_part(&nonsense).needs_initialize());
    }
    assert!(read(&class(&json!(null))).is_err());
    nonsense.spec = "{\n  nonsense".into();
    assert!(read(&nonsense).unwrap_err().message.contains("it is not JSON (line 2, column 3)"));
}

#[test]
fn many_problems_are_reported_in_part() {
    let wrong = json!({ "networkInterfaces": vec![json!({}); 30] });
    let reported = problems(&spec_with(wrong));
    assert_eq!((reported.len(), reported.last().unwrap().as_str()), (21, "and 40 more"));
}

/// The driver reads every field of the schema, at every depth; fields without effect have another warning.
#[test]
fn the_schema_knows_the_fields_that_are_read() {
    fn filled(schema: &Value) -> Value {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            return properties.iter().map(|(name, inner)| (name.clone(), filled(inner))).collect();
        }
        match schema.get("items") {
            Some(items) => json!([filled(items)]),
            None => Value::Null,
        }
    }
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let all = filled(&schema);
    assert_eq!(all["blockDevices"][0]["ebs"].as_object().unwrap().len(), 8);
    assert_eq!(
        (all.as_object().unwrap().len(), all["networkInterfaces"][0].as_object().unwrap().len()),
        (20, 11)
    );
    let reported = problems(&all);
    assert!(!reported.iter().any(|problem| problem.contains(" must be a string")), "{reported:?}");
    let mut whole = all;
    for (name, value) in spec().as_object().unwrap() {
        whole[name] = value.clone();
    }
    for name in ["cpuOptions", "placement", "instanceMetadataOptions"] {
        assert!(whole[name].is_object(), "{name}");
    }
    whole["instanceMarketOptions"]["marketType"] = json!("spot");
    let (_, warnings) = read(&class(&whole)).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
}
