//! Classes that name Secrets which they may not use: nothing of them reaches a driver, nothing is written onto them,
//! and class and Machine say what to do.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{Host, Stage, class, in_namespace, secret};

const SOON: Duration = Duration::from_secs(2);
const HOUR: Duration = Duration::from_secs(3_600);
const STOLEN: &str = "eyJhbGciOiJSUzI1NiJ9.a-token-of-another-account";

fn bind(stage: &Stage, annotation: &str, names: &str) {
    let patch = json!({ "metadata": { "annotations": { annotation: names } } });
    stage.api.edit("secrets", &in_namespace("account"), &patch).unwrap();
}

fn finalizers(stage: &Stage, name: &str) -> Value {
    let secret = stage.api.find("secrets", &in_namespace(name)).unwrap();
    secret["metadata"]["finalizers"].clone()
}

fn is_held(stage: &Stage) -> bool {
    finalizers(stage, "account") == json!(["machine.sapcloud.io/machine-controller"])
}

/// Status, reason and message of the class's condition.
fn condition(stage: &Stage) -> [String; 3] {
    let class = stage.api.find("machineclasses", &in_namespace("small")).unwrap();
    let condition = &class["status"]["machinist"]["conditions"][0];
    ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap_or_default().to_owned())
}

fn message(stage: &Stage) -> String {
    stage.reported("a", "Ready").2
}

async fn refused(stage: &Stage, part: &str) {
    stage.until("it is refused", SOON, || stage.reason("a") == "SecretRefused").await;
    assert!(message(stage).contains(part), "{}", message(stage));
    let [status, reason, message] = condition(stage);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "SecretRefused"));
    assert!(message.contains(part), "{message}");
    assert!(stage.events("small").contains(&"SecretRefused".to_owned()));
    assert!(stage.events("a").contains(&"SecretRefused".to_owned()));
}

/// A stage on which Machine `a` runs.
async fn running() -> (Stage, Host) {
    let stage = Stage::set();
    let host = stage.host("host");
    stage.add_running("a").await;
    stage.until("the Secret is held", SOON, || is_held(&stage)).await;
    (stage, host)
}

#[tokio::test(start_paused = true)]
async fn attack_a_class_sends_the_token_of_a_service_account_to_its_driver() {
    for kind in ["kubernetes.io/service-account-token", "kubernetes.io/dockerconfigjson", "example.com/x"] {
        let stage = Stage::empty();
        let mut stolen = secret();
        stolen["metadata"]["name"] = json!("default-token");
        stolen["type"] = json!(kind);
        // It has all that a class needs. In base64, as data is; the values are compared as bytes.
        stolen["data"]["token"] = json!("ZXlKaGJHY2lPaUpTVXpJMU5pSjkuYS10b2tlbi1vZi1hbm90aGVyLWFjY291bnQ=");
        stage.api.create("secrets", &stolen).unwrap();
        let mut thief = class();
        thief["secretRef"] = json!({ "name": "default-token" });
        stage.api.create("machineclasses", &thief).unwrap();
        let _host = stage.host("host");
        stage.add_machine("a");
        refused(&stage, kind).await;
        tokio::time::sleep(HOUR).await;
        assert_eq!(stage.cloud.made().len(), 0);
        let seen = stage.cloud.secrets();
        let is_it = |value: &Vec<u8>| value == STOLEN.as_bytes();
        assert!(!seen.iter().any(|(_, secrets)| secrets.values.values().any(is_it)), "{seen:?}");
        assert_eq!(finalizers(&stage, "default-token"), Value::Null, "{kind}");

        stage.api.create("secrets", &secret()).unwrap();
        let patch = json!({ "secretRef": class()["secretRef"] });
        stage.api.edit("machineclasses", &in_namespace("small"), &patch).unwrap();
        stage.until_running("a").await;
        stage.until("the class is accepted", SOON, || condition(&stage)[0] == "True").await;
    }
}

#[tokio::test(start_paused = true)]
async fn attack_a_class_gives_the_secret_of_another_plugin_to_its_own() {
    let stage = Stage::set();
    bind(&stage, "machinist.dev/plugins", "aws, gcp");
    let _host = stage.host("host");
    stage.add_machine("a");
    refused(&stage, "machinist.dev/plugins").await;
    tokio::time::sleep(HOUR).await;
    assert!(stage.cloud.secrets().iter().all(|(_, secrets)| secrets.values.is_empty()));
    assert_eq!(finalizers(&stage, "account"), Value::Null);

    bind(&stage, "machinist.dev/plugins", "aws,sim");
    stage.until_running("a").await;
    stage.until("the Secret is held", SOON, || is_held(&stage)).await;
    let (_, secrets) = stage.cloud.secrets().pop().unwrap();
    let plugins: Vec<String> = secrets.plugins.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(plugins, ["aws", "sim"], "who hands the values over checks it again");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_held_by_a_refused_secret_says_why_and_goes_on_when_it_is_bound() {
    let (stage, _host) = running().await;
    bind(&stage, "machinist.dev/classes", "large");
    stage.until("a class that may not use it does not hold it", SOON, || !is_held(&stage)).await;
    let before = stage.cloud.secrets().len();
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until("it says so", Duration::from_secs(600), || stage.reason("a") == "SecretRefused").await;
    assert!(message(&stage).contains("machinist.dev/classes"), "{}", message(&stage));
    assert!(message(&stage).contains("machinist.dev/vm-is-gone"), "{}", message(&stage));
    tokio::time::sleep(HOUR).await;
    assert_eq!(stage.cloud.secrets().len(), before, "no driver is called");
    assert!(stage.machine("a").is_some());
    bind(&stage, "machinist.dev/classes", "large,small");
    stage.until_gone("a").await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_runs_goes_on_when_its_class_may_no_longer_use_the_secret() {
    let (stage, _host) = running().await;
    bind(&stage, "machinist.dev/plugins", "");
    stage.until("the class says so", SOON, || condition(&stage)[1] == "SecretRefused").await;
    let before = stage.cloud.secrets().len();
    tokio::time::sleep(HOUR).await;
    assert_eq!((stage.phase("a").as_str(), stage.cloud.secrets().len()), ("Running", before));
}
