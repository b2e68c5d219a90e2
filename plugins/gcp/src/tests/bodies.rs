//! The body of a new instance.

use serde_json::{Value, json};

use super::classes::FIXTURES;
use super::harness::{Harness, request_of, spec, spec_with};

/// Returns the body that the driver sends for a class.
fn body(spec: &Value) -> Value {
    let harness = Harness::new();
    harness.create(&mut request_of(1, spec)).unwrap();
    let sent = harness.host.seen();
    let insert = sent.iter().find(|request| request.url.contains("/instances?requestId=")).unwrap();
    serde_json::from_slice(insert.body.as_deref().unwrap()).unwrap()
}

fn fixture(name: &str) -> Value {
    let (_, text) = FIXTURES.into_iter().find(|(known, _)| *known == name).unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_plain_class_sends_what_it_says_and_the_marks() {
    let sent = body(&spec());
    assert_eq!(sent["name"], "machine-1");
    assert_eq!(sent["machineType"], "zones/europe-west1-b/machineTypes/n1-standard-2");
    assert_eq!(sent["labels"], json!({ "machinist-cluster": "c1", "machinist-machine-uid": "uid-1" }));
    assert_eq!(
        sent["scheduling"],
        json!({ "automaticRestart": true, "onHostMaintenance": "MIGRATE", "preemptible": false })
    );
    assert_eq!(
        sent["networkInterfaces"],
        json!([{ "subnetwork": "projects/machinist-lab/regions/europe-west1/subnetworks/nodes" }])
    );
    for absent in [
        "description", "minCpuPlatform", "serviceAccounts", "guestAccelerators", "shieldedInstanceConfig",
        "advancedMachineFeatures",
    ] {
        assert!(sent[absent].is_null(), "{absent}");
    }
}

#[test]
fn disks_come_in_googles_order_and_only_those_that_go_have_marks() {
    let sent = body(&fixture("gpu-preemptible"));
    assert_eq!(sent["disks"][0]["boot"], true);
    assert_eq!(
        sent["disks"][1],
        json!({
            "type": "SCRATCH", "boot": false, "autoDelete": true, "interface": "SCSI",
            "initializeParams": { "diskType": "zones/europe-west1-d/diskTypes/local-ssd" },
        })
    );
    let sent = body(&fixture("gardener-worker"));
    assert_eq!(
        sent["disks"][0]["diskEncryptionKey"],
        json!({ "kmsKeyName": "projects/keys/locations/europe-west1/keyRings/r/cryptoKeys/k" })
    );
    let parameters = &sent["disks"][0]["initializeParams"];
    assert_eq!(parameters["diskSizeGb"], "50");
    assert_eq!(parameters["labels"]["machinist-machine-uid"], "uid-1");
    assert_eq!(parameters["labels"]["volume-type"], "boot");
    let kept = json!([spec()["disks"][0], { "type": "pd-ssd", "autoDelete": false, "labels": { "a": "b" } }]);
    let sent = body(&spec_with(json!({ "disks": kept })));
    assert_eq!(sent["disks"][1]["initializeParams"]["labels"], json!({ "a": "b" }));
}

#[test]
fn flags_of_shielded_vms_are_explicit() {
    let sent = body(&fixture("dual-stack"));
    let flags = json!({ "enableIntegrityMonitoring": false, "enableSecureBoot": true, "enableVtpm": false });
    assert_eq!(sent["shieldedInstanceConfig"], flags);
    assert_eq!(sent["advancedMachineFeatures"], json!({ "enableNestedVirtualization": true }));
    let sent = body(&spec_with(json!({ "shieldedInstanceConfiguration": { "vtpm": false } })));
    assert_eq!(sent["shieldedInstanceConfig"], json!({ "enableVtpm": false }));
}

#[test]
fn both_spellings_of_the_ipv6_access_type_count() {
    let outside = json!([{ "type": "DIRECT_IPV6", "networkTier": "PREMIUM" }]);
    for name in ["ipv6accessType", "ipv6AccessType", "IPV6ACCESSTYPE"] {
        let nic = json!([{ "subnetwork": "nodes", "stackType": "IPV4_IPV6", name: "EXTERNAL" }]);
        let sent = body(&spec_with(json!({ "networkInterfaces": nic })));
        assert_eq!(sent["networkInterfaces"][0]["ipv6AccessConfigs"], outside, "{name}");
        assert_eq!(sent["networkInterfaces"][0]["stackType"], "IPV4_IPV6");
        assert!(sent["networkInterfaces"][0]["aliasIpRanges"].is_null(), "no empty range");
    }
    let sent = body(&fixture("dual-stack"));
    let range = json!([{ "ipCidrRange": "/24", "subnetworkRangeName": "pods" }]);
    assert_eq!(sent["networkInterfaces"][0]["aliasIpRanges"], range);
    assert!(sent["networkInterfaces"][1]["ipv6AccessConfigs"].is_null());
    assert_eq!(sent["networkInterfaces"][0]["accessConfigs"], json!([{}]));
    // Without both, Google decides by the subnetwork, as with machine-controller-manager's provider.
    let nic = json!([{ "subnetwork": "nodes", "stackType": "IPV4_ONLY", "ipCidrRange": "/24" }]);
    let sent = body(&spec_with(json!({ "networkInterfaces": nic })));
    assert!(sent["networkInterfaces"][0]["stackType"].is_null());
}

#[test]
fn spot_vms_and_accelerators_are_scheduled_as_google_demands() {
    let sent = body(&fixture("spot-zones"));
    assert_eq!(
        sent["scheduling"],
        json!({
            "automaticRestart": false, "onHostMaintenance": "TERMINATE", "preemptible": true,
            "provisioningModel": "SPOT", "instanceTerminationAction": "DELETE",
        })
    );
    let sent = body(&fixture("gpu-preemptible"));
    assert_eq!(
        sent["scheduling"],
        json!({ "automaticRestart": false, "onHostMaintenance": "TERMINATE", "preemptible": true })
    );
    let gpu = json!([{ "acceleratorType": "projects/machinist-lab/zones/europe-west1-d/acceleratorTypes/nvidia-tesla-t4", "acceleratorCount": 1 }]);
    assert_eq!(sent["guestAccelerators"], gpu);
}

#[test]
fn paths_of_other_projects_are_sent_as_they_are() {
    let sent = body(&fixture("spot-zones"));
    assert_eq!(sent["networkInterfaces"][0]["network"], "projects/machinist-lab/global/networks/nodes");
}
