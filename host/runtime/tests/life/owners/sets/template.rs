//! Settings that a template passes on to existing Machines.

use std::time::Duration;

use serde_json::{Value, json};

use super::{edit, look, names, reported, stage, until_stable};
use crate::fixture::stage::{Stage, in_namespace};

fn specs(stage: &Stage) -> Vec<Value> {
    stage.api.collect("machines", |machine| Some(machine["spec"].clone()))
}

#[tokio::test(start_paused = true)]
async fn node_template_time_outs_and_the_kind_of_the_class_reach_machines_that_are_there() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let template = json!({ "spec": {
        "class": { "kind": "OtherClass" },
        "drainTimeout": "5m",
        "nodeTemplate": { "metadata": { "labels": { "pool": null, "tier": "b" } } },
    } });
    edit(&stage, &json!({ "spec": { "template": template } }));
    let holds = |spec: &Value| {
        spec["drainTimeout"] == "5m0s"
            && spec["class"] == json!({ "kind": "OtherClass", "name": "small" })
            && spec["nodeTemplate"]["metadata"]["labels"] == json!({ "tier": "b" })
    };
    let all = || specs(&stage).iter().all(holds);
    stage.until("all have it", Duration::from_secs(60), all).await;
    let node = || stage.api.find("nodes", &names(&stage)[0]).unwrap()["metadata"]["labels"].clone();
    let is_on_node = || node()["tier"] == "b" && node()["pool"].is_null();
    stage.until("their Nodes too", Duration::from_secs(60), is_on_node).await;
}

#[tokio::test(start_paused = true)]
async fn another_class_counts_for_machines_to_come() {
    let stage = stage(1);
    let _host = stage.host("host");
    until_stable(&stage, 1).await;
    edit(&stage, &json!({ "spec": { "template": { "spec": { "class": { "name": "large" } } } } }));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(specs(&stage)[0]["class"]["name"], "small");
}

#[tokio::test(start_paused = true)]
async fn a_creation_time_out_that_was_found_out_wins() {
    let stage = stage(1);
    let timeout = json!({ "node.machine.sapcloud.io/effective-creation-timeout": "7m" });
    edit(&stage, &json!({ "metadata": { "annotations": timeout } }));
    let _host = stage.host("host");
    until_stable(&stage, 1).await;
    assert_eq!(specs(&stage)[0]["creationTimeout"], "7m0s");
    let version = |stage: &Stage| stage.api.all("machines")[0]["metadata"]["generation"].clone();
    let before = version(&stage);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(version(&stage), before, "nobody writes it back and forth");
}

#[tokio::test(start_paused = true)]
async fn a_typo_is_reported_and_reaches_no_machine() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let typo = json!({ "node.machine.sapcloud.io/effective-creation-timeout": "20min" });
    let template = json!({ "spec": { "drainTimeout": "1 hour", "maxEvictRetries": -3 } });
    edit(
        &stage,
        &json!({ "metadata": { "annotations": typo }, "spec": { "template": template, "replicas": 3 } }),
    );
    until_stable(&stage, 3).await;
    for spec in specs(&stage) {
        for field in ["creationTimeout", "drainTimeout", "maxEvictRetries"] {
            assert_eq!(spec[field], Value::Null, "{field}");
        }
    }
    let (status, reason, message) = reported(&stage, "Valid");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NotUnderstood"));
    for field in ["effective-creation-timeout", "spec.template.spec.drainTimeout", "maxEvictRetries"] {
        assert!(message.contains(field), "{field}: {message}");
    }
    assert!(stage.events("pool").contains(&"NotUnderstood".to_owned()), "{:?}", stage.events("pool"));
    let right = json!({ "node.machine.sapcloud.io/effective-creation-timeout": "7m" });
    let template = json!({ "spec": { "drainTimeout": "1h", "maxEvictRetries": 3 } });
    edit(&stage, &json!({ "metadata": { "annotations": right }, "spec": { "template": template } }));
    let is_handed_down =
        || specs(&stage).iter().all(|spec| spec["creationTimeout"] == "7m0s" && spec["maxEvictRetries"] == 3);
    stage.until("all have it", Duration::from_secs(60), is_handed_down).await;
    assert_eq!(reported(&stage, "Valid").0, "True");
}

#[tokio::test(start_paused = true)]
async fn what_an_older_host_has_handed_down_is_taken_off_machines_that_are_there() {
    let stage = stage(1);
    let _host = stage.host("host");
    until_stable(&stage, 1).await;
    let typo = json!({ "spec": { "creationTimeout": "20min" } });
    stage.api.edit("machines", &in_namespace(&names(&stage)[0]), &typo).unwrap();
    stage.until("it is off", Duration::from_secs(60), || specs(&stage)[0]["creationTimeout"].is_null()).await;
    // Another writing of the same time is left as it is.
    edit(&stage, &json!({ "spec": { "template": { "spec": { "drainTimeout": "60m" } } } }));
    stage
        .until("handed down", Duration::from_secs(60), || specs(&stage)[0]["drainTimeout"] == "1h0m0s")
        .await;
    let other = json!({ "spec": { "drainTimeout": "3600s" } });
    stage.api.edit("machines", &in_namespace(&names(&stage)[0]), &other).unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(specs(&stage)[0]["drainTimeout"], "3600s");
}

#[tokio::test(start_paused = true)]
async fn at_rest_nothing_is_written() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    tokio::time::sleep(Duration::from_secs(660)).await;
    let before = stage.wire.records(memory_api::wire::Call::is_write).len();
    let version = look(&stage, "pool").unwrap()["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_secs(25 * 3_600)).await;
    assert_eq!(stage.wire.records(memory_api::wire::Call::is_write).len(), before);
    assert_eq!(look(&stage, "pool").unwrap()["metadata"]["resourceVersion"], version);
    assert!(stage.api.find("machines", &in_namespace(&names(&stage)[0])).is_some());
}
