//! Functions without network, and the resources of Nodes.

use machinist_sdk::driver::{Capabilities, Code, NoAnswerReason, Vm, VmState};
use machinist_sdk::mock::MockHost;
use serde_json::{Value, json};

use super::harness::{Harness, class, request, spec_with};
use crate::component::GcpDriver;

#[test]
fn the_driver_describes_itself() {
    let host = MockHost::answering([]);
    let about = host.driver::<GcpDriver>().describe();
    assert_eq!((about.name.as_str(), about.providers.as_slice()), ("gcp", ["GCP".to_owned()].as_slice()));
    let all = Capabilities::STATUS
        | Capabilities::INITIALIZE
        | Capabilities::LISTING
        | Capabilities::VOLUME_IDS
        | Capabilities::IDEMPOTENCY_KEY;
    assert_eq!(about.capabilities, all);
    assert_eq!(about.hosts, ["compute.googleapis.com", "oauth2.googleapis.com"]);
    let schema: Value = serde_json::from_str(&about.class_schema.unwrap()).unwrap();
    assert!(schema["properties"]["zones"].is_object());
}

#[test]
fn a_node_has_the_id_of_googles_cloud_controller_manager() {
    let vm = |provider_id: &str| Vm {
        provider_id: provider_id.to_owned(),
        node_name: "a".to_owned(),
        state: VmState::Running,
        addresses: Vec::new(),
        failure_domain: None,
        conditions: Vec::new(),
        last_known_state: None,
    };
    let host = MockHost::answering([]);
    let driver = host.driver::<GcpDriver>();
    let id = driver.node_id(&request(1), &vm("gce:///p/europe-west1-b/a")).unwrap();
    assert_eq!(id, "gce://p/europe-west1-b/a");
    assert_eq!(driver.node_id(&request(1), &vm("aws:///x/i-1")).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn spot_vms_are_interruptible() {
    let host = MockHost::answering([]);
    let is_interruptible = |scheduling: Value| {
        let spec = spec_with(json!({ "scheduling": scheduling }));
        host.driver::<GcpDriver>().is_interruptible(&class(&spec)).unwrap()
    };
    assert!(!is_interruptible(json!({ "onHostMaintenance": "MIGRATE" })));
    assert!(!is_interruptible(json!({ "onHostMaintenance": "MIGRATE", "provisioningModel": "STANDARD" })));
    assert!(is_interruptible(json!({ "onHostMaintenance": "TERMINATE", "preemptible": true })));
    assert!(is_interruptible(json!({ "onHostMaintenance": "TERMINATE", "provisioningModel": "SPOT" })));
}

#[test]
fn a_node_has_the_resources_of_its_machine_type() {
    let harness = Harness::new();
    let capacity = |changes: Value| harness.driver().node_capacity(&class(&spec_with(changes)));
    let node = capacity(json!({})).unwrap();
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        node.resources,
        [text("cpu", "2"), text("memory", "7680Mi"), text("ephemeral-storage", "20Gi")]
    );
    assert_eq!(
        (node.architecture.as_deref(), node.operating_system.as_deref()),
        (Some("amd64"), Some("linux"))
    );
    assert_eq!(harness.sent(), ["machineTypes.get"]);
    let arm = capacity(json!({ "machineType": "t2a-standard-1" })).unwrap();
    assert_eq!(arm.architecture.as_deref(), Some("arm64"));
    let gpu = json!({ "acceleratorType": "nvidia-tesla-t4", "count": 2 });
    assert!(capacity(json!({ "gpu": gpu })).unwrap().resources.contains(&text("nvidia.com/gpu", "2")));
    let built_in = capacity(json!({ "machineType": "a2-highgpu-1g" })).unwrap();
    assert!(built_in.resources.contains(&text("nvidia.com/gpu", "1")));
    assert_eq!(capacity(json!({ "machineType": "n9-none" })).map(|_| ()).unwrap_err().code, Code::NotFound);
    harness.refuse("machineTypes.get", 403, "forbidden");
    assert_eq!(capacity(json!({})).map(|_| ()).unwrap_err().code, Code::PermissionDenied);
}

#[test]
fn without_a_network_nothing_is_sent_and_the_cause_is_named() {
    for (reason, code) in [
        (NoAnswerReason::Denied, Code::FailedPrecondition),
        (NoAnswerReason::NoSuchHost, Code::Unavailable),
        (NoAnswerReason::TimedOut, Code::DeadlineExceeded),
    ] {
        let host = MockHost::new(|_| Err(reason.clone())).settings(r#"{"project": "p"}"#).secret(
            "serviceAccountJSON",
            "{}",
            &[],
        );
        let failure = host.driver::<GcpDriver>().get_status(&request(1)).map(|_| ()).unwrap_err();
        assert_eq!(failure.code, code);
        assert!(failure.message.contains("compute.googleapis.com"), "{}", failure.message);
    }
}
