//! Properties for any input.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::harness::Fault;
use super::harness::{Harness, answer, class, request, request_of, with_id};
use crate::class::spec::{read, read_in_part};
use crate::class::volume;
use crate::ec2::pending::PendingCreate;
use crate::instance::map;

const KEYS: [&str; 16] = [
    "ami", "AMI", "region", "machineType", "iam", "name", "blockDevices", "ebs", "volumeType", "volumeSize",
    "networkInterfaces", "subnetID", "securityGroupIDs", "tags", "kubernetes.io/cluster/a",
    "instanceMarketOptions",
];

/// JSON of any shape, with keys that a class has.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z/-]{0,12}|/root|gp3|eu-west-1".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = prop_oneof![proptest::sample::select(&KEYS[..]).prop_map(str::to_owned), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn no_class_makes_a_panic(spec in json()) {
        let class = class(&spec);
        let _ = read(&class).map_err(|error| assert!(error.message.len() < 10_000));
        let _ = read_in_part(&class).tag_keys();
    }

    #[test]
    fn no_text_of_a_class_makes_a_panic(text in any::<String>()) {
        let mut class = class(&Value::Null);
        class.spec = text;
        let _ = read(&class);
    }

    #[test]
    fn a_class_that_is_accepted_launches_with_the_same_bytes_each_time(spec in json()) {
        if read(&class(&spec)).is_ok() {
            let bodies = || { let harness = Harness::new(); let _ = harness.begin(&request_of(1, &spec)); harness.bodies() };
            prop_assert_eq!(bodies(), bodies());
        }
    }

    #[test]
    fn no_bytes_of_a_cloud_make_a_panic(status in 100_u16..600, body in any::<Vec<u8>>(), html in any::<bool>(), unsigned in any::<bool>()) {
        let known = { let harness = Harness::new(); with_id(&request(1), &harness.create(&request(1)).unwrap()) };
        for action in ["DescribeImages", "RunInstances", "DescribeInstances"] {
            let harness = Harness::new();
            let mut invalid = answer((status, String::new()));
            invalid.body = body.clone();
            invalid.is_html = html;
            invalid.is_unsigned = unsigned;
            harness.fault(action, Fault::Instead(Ok(invalid)));
            let error = match action {
                "DescribeInstances" => harness.status(&known).map(|_| ()),
                _ => harness.begin(&request(1)).map(|_| ()),
            };
            prop_assert!(error.is_err());
        }
    }

    #[test]
    fn no_shape_of_xml_makes_a_panic(
        action in "(DescribeInstances|RunInstances|DescribeImages)Response|Response",
        names in prop::collection::vec("reservationSet|instancesSet|item|instanceId|nextToken|Errors|Error|Code|tagSet|key|i-1", 0..12),
    ) {
        let open: String = names.iter().map(|name| format!("<{name}>")).collect();
        let close: String = names.iter().rev().map(|name| format!("</{name}>")).collect();
        let body = format!("<{action}>{open}{close}</{action}>");
        let harness = Harness::new();
        harness.fault("DescribeInstances", Fault::Instead(Ok(answer((200, body.clone())))));
        let _ = harness.status(&request(1));
        harness.fault("RunInstances", Fault::Instead(Ok(answer((400, body)))));
        let _ = harness.begin(&request(1));
    }

    #[test]
    fn no_state_id_or_volume_makes_a_panic(text in any::<String>(), spec in json()) {
        let state = PendingCreate::parse(Some(&text));
        prop_assert_eq!(PendingCreate::parse(Some(&state.text())), state);
        let _ = map::parts(&text);
        let _ = map::parts(&format!("aws:///{text}"));
        let _ = volume::id(&text, 0);
        prop_assert!(volume::id(&spec.to_string(), 0).is_ok());
    }
}
