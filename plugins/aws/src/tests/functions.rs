//! The interfaces for Cluster API: zones, interruptions, resources. `instance::map` tests ids of Nodes.

use machinist_sdk::driver::Code;
use serde_json::{Value, json};

use super::harness::{Harness, class, request_of, spec, spec_with};
use crate::class::spec::read;
use crate::class::zone;

fn zoned() -> Value {
    spec_with(json!({ "subnetsByZone": { "eu-west-1a": "subnet-a", "eu-west-1b": "subnet-b" } }))
}

fn placed(spec: &Value, zone: &str) -> Result<Value, (Code, String)> {
    let placed =
        zone::placed(&class(spec), zone).map_err(|failure| (failure.code, failure.message.clone()))?;
    Ok(serde_json::from_str(&placed).unwrap())
}

/// Returns subnet and zone of the launch of a class.
fn launched(spec: &Value) -> (String, Option<String>) {
    let harness = Harness::new();
    harness.create(&request_of(1, spec)).unwrap();
    let vm = harness.live().remove(0);
    (vm.form["NetworkInterface.1.SubnetId"].clone(), vm.form.get("Placement.AvailabilityZone").cloned())
}

#[test]
fn a_placed_class_launches_into_the_subnet_of_its_zone_and_names_the_zone() {
    assert_eq!(launched(&zoned()), ("subnet-1".to_owned(), None), "without a failure domain nothing changes");
    for (zone, subnet) in [("eu-west-1a", "subnet-a"), ("eu-west-1b", "subnet-b")] {
        let class = placed(&zoned(), zone).unwrap();
        assert_eq!(launched(&class), (subnet.to_owned(), Some(zone.to_owned())));
        assert_eq!(placed(&class, zone).as_ref(), Ok(&class), "again it is the same");
    }
    let of_another = placed(&placed(&zoned(), "eu-west-1a").unwrap(), "eu-west-1b").unwrap();
    assert_eq!(of_another, placed(&zoned(), "eu-west-1b").unwrap());
}

#[test]
fn keys_of_any_case_count() {
    let mut spec = zoned();
    spec["AVAILABILITYZONE"] = json!("eu-west-1a");
    assert_eq!(launched(&placed(&spec, "eu-west-1b").unwrap()).1.as_deref(), Some("eu-west-1b"));
}

#[test]
fn a_zone_without_a_subnet_is_refused_and_the_field_is_named() {
    for spec in [zoned(), spec()] {
        let (code, message) = placed(&spec, "eu-west-1c").unwrap_err();
        assert_eq!(code, Code::InvalidArgument);
        assert!(message.contains("subnetsByZone has no subnet for the zone eu-west-1c"), "{message}");
    }
    let own = spec_with(json!({ "availabilityZone": "eu-west-1c" }));
    assert_eq!(placed(&own, "eu-west-1c").as_ref(), Ok(&own), "the class's own subnet is there, as it says");
    let wrong = spec_with(json!({ "availabilityZone": "eu-west-1c", "subnetsByZone": { "eu-west-1a": "" } }));
    let (code, message) = placed(&wrong, "eu-west-1c").unwrap_err();
    assert_eq!(code, Code::InvalidArgument);
    for part in ["subnetsByZone has no subnet for availabilityZone", "must be a subnet of a zone"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn spot_may_be_taken_away_at_any_time_and_a_capacity_block_may_not() {
    let answer = |spec: &Value| match read(&class(spec)) {
        Ok((spec, _)) => Ok(spec.is_interruptible()),
        Err(failure) => Err(failure.code),
    };
    assert_eq!(answer(&spec()), Ok(false), "on demand");
    let market = |kind: &str| spec_with(json!({ "instanceMarketOptions": { "marketType": kind } }));
    for (kind, expected) in
        [("spot", true), ("interruptible-capacity-reservation", true), ("capacity-block", false)]
    {
        assert_eq!(answer(&market(kind)), Ok(expected), "{kind}");
    }
    for price in ["", "0.05"] {
        assert_eq!(answer(&spec_with(json!({ "spotPrice": price }))), Ok(true), "{price:?}");
    }
    assert_eq!(answer(&market("bazaar")), Err(Code::InvalidArgument));
}

#[test]
fn a_node_has_the_resources_of_its_instance_type_and_the_disk_of_its_class() {
    let harness = Harness::new();
    let known = harness.node_capacity(&spec()).unwrap();
    let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|&(name, is)| (name.to_owned(), is.to_owned())).collect()
    };
    assert_eq!(known.resources, pairs(&[("cpu", "2"), ("memory", "8192Mi"), ("ephemeral-storage", "50Gi")]));
    assert_eq!(known.architecture.as_deref(), Some("amd64"));
    assert_eq!(harness.sent(), ["DescribeInstanceTypes"]);
    let large = spec_with(json!({
        "machineType": "g5g.metal", "cpuOptions": { "coreCount": 8, "threadsPerCore": 1 },
    }));
    let large = harness.node_capacity(&large).unwrap();
    assert_eq!(large.architecture.as_deref(), Some("arm64"));
    assert!(
        large.resources.contains(&("nvidia.com/gpu".to_owned(), "2".to_owned())),
        "{:?}",
        large.resources
    );
    assert!(large.resources.contains(&("cpu".to_owned(), "8".to_owned())), "{:?}", large.resources);
    let none = spec_with(json!({ "machineType": "m5.none" }));
    assert_eq!(harness.node_capacity(&none).unwrap_err().code, Code::NotFound);
}
