//! Classes of any shape.

use machinist_sdk::driver::Code;
use machinist_sdk::mock::MockHost;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::{Harness, class, request_of, spec};
use crate::component::GcpDriver;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|number| json!(f64::from(number) / 4.0)),
        "[a-z0-9/._-]{0,12}|\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names(), inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "region", "zone", "zones", "project", "machineType", "disks", "boot", "IMAGE", "sizeGb", "type",
        "networkInterfaces", "network", "subnetwork", "scheduling", "onHostMaintenance", "labels", "tags",
        "gpu", "metadata", "key", "x",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_class_is_accepted_or_refused_with_its_fields(changes in prop::collection::btree_map(names(), any_json(), 0..4)) {
        let mut changed = spec();
        for (name, value) in &changes {
            changed[name.as_str()] = value.clone();
        }
        let host = MockHost::answering([]);
        let driver = host.driver::<GcpDriver>();
        let class = class(&changed);
        match driver.validate_class(&class) {
            Ok(_) => {
                driver.is_interruptible(&class).unwrap();
                let placed = driver.place(&class, "europe-west1-c");
                if let Ok(placed) = placed {
                    let again = super::harness::class(&serde_json::from_str(&placed).unwrap());
                    driver.validate_class(&again).unwrap();
                    prop_assert_eq!(driver.place(&again, "europe-west1-c").unwrap(), placed);
                }
            }
            Err(failure) => {
                prop_assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
                prop_assert!(failure.message.contains("providerSpec is invalid: "));
                prop_assert!(failure.message.chars().count() < 4_000);
            }
        }
    }

    /// Whatever the driver accepts, Google's document accepts as well: only what the project has may be missing.
    #[test]
    fn an_accepted_class_makes_a_body_of_the_right_shape(changes in prop::collection::btree_map(names(), any_json(), 0..3)) {
        let mut changed = spec();
        for (name, value) in &changes {
            changed[name.as_str()] = value.clone();
        }
        let harness = Harness::new();
        let mut request = request_of(1, &changed);
        if harness.driver().validate_class(&request.class).is_ok()
            && let Err(failure) = harness.create(&mut request)
        {
            for words in ["Unknown name", "TYPE_", "output only"] {
                prop_assert!(!failure.message.contains(words), "{}", failure.message);
            }
        }
    }
}
