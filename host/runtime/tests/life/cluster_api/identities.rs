//! Credentials: a Secret of the namespace, or a MachinistIdentity that allows the namespace.

use std::time::Duration;

use machinist_api::infrastructure::names::finalizers;
use memory_api::encode;
use memory_api::wire::table;
use serde_json::{Value, json};

use super::objects::{
    CLUSTERS, MACHINES, add_cluster, add_machine, empty, find, is_provisioned, of_team, provided, says,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::Stage;

const LIMIT: Duration = Duration::from_secs(120);
const IDENTITIES: &str = "machinistidentities";

/// A stage whose cluster uses identity `central`, with a Secret of another namespace.
fn with_identity(allowed: &Value) -> Stage {
    let stage = empty(Habits::default());
    let data = json!({ "token": encode(b"a central token") });
    let secret = json!({ "metadata": { "name": "keys", "namespace": "central" }, "data": data });
    stage.api.create("secrets", &secret).unwrap();
    let spec =
        json!({ "secretRef": { "name": "keys", "namespace": "central" }, "allowedNamespaces": allowed });
    stage.api.create(IDENTITIES, &json!({ "metadata": { "name": "central" }, "spec": spec })).unwrap();
    stage
        .api
        .create("namespaces", &json!({ "metadata": { "name": "team", "labels": { "a": "b" } } }))
        .unwrap();
    add_cluster(&stage);
    let identity = json!({ "kind": "MachinistIdentity", "name": "central" });
    stage.api.edit(CLUSTERS, &of_team("c"), &json!({ "spec": { "identityRef": identity } })).unwrap();
    add_machine(&stage, "vm");
    stage
}

#[tokio::test(start_paused = true)]
async fn an_identity_is_used_where_it_allows_the_namespace_by_name_or_by_label() {
    for allowed in
        [json!({}), json!({ "list": ["team"] }), json!({ "selector": { "matchLabels": { "a": "b" } } })]
    {
        let stage = with_identity(&allowed);
        let _host = stage.host_without_target("host");
        stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
        let secrets = stage.cloud.secrets();
        assert_eq!(secrets[0].1.values["token"], b"a central token", "{allowed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_identity_for_others_is_refused_until_it_allows_the_namespace() {
    for refused in
        [Value::Null, json!({ "list": ["other"] }), json!({ "selector": { "matchLabels": { "a": "c" } } })]
    {
        let stage = with_identity(&refused);
        let _host = stage.host_without_target("host");
        let is_refused = || says(&stage, "vm", "Ready").1 == "CredentialsRefused";
        stage.until("it says so", LIMIT, is_refused).await;
        assert_eq!(stage.cloud.vms(), 0);
        let allowed = json!({ "spec": { "allowedNamespaces": { "list": ["team"], "selector": null } } });
        stage.api.edit(IDENTITIES, "central", &allowed).unwrap();
        stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    }
}

fn finalizers_of(stage: &Stage, plural: &str, key: &str) -> Value {
    stage.api.find(plural, key).unwrap_or_default()["metadata"]["finalizers"].clone()
}

/// The whole namespace may be deleted at once: whatever order the objects go in, the VM goes too.
#[tokio::test(start_paused = true)]
async fn credentials_stay_until_the_last_object_that_needs_them_is_gone() {
    let (stage, _host) = provided().await;
    let held = json!([finalizers::IDENTITY]);
    stage
        .until("the Secret is kept", LIMIT, || finalizers_of(&stage, "secrets", &of_team("account")) == held)
        .await;
    for (plural, name) in [("secrets", "account"), (CLUSTERS, "c"), (MACHINES, "vm")] {
        stage.api.delete(plural, &of_team(name)).unwrap();
    }
    let is_gone = |plural: &str, name: &str| stage.api.find(plural, &of_team(name)).is_none();
    stage.until("the machine is gone", LIMIT, || is_gone(MACHINES, "vm")).await;
    assert_eq!(stage.cloud.vms(), 0);
    stage.until("its cluster too", LIMIT, || is_gone(CLUSTERS, "c")).await;
    stage.until("and the credentials", LIMIT, || is_gone("secrets", "account")).await;
}

/// An Event names the users of a Secret that somebody deletes.
#[tokio::test(start_paused = true)]
async fn a_deletion_of_credentials_in_use_is_reported_and_another_reference_lets_them_go() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    stage.api.delete("secrets", &of_team("account")).unwrap();
    let is_reported = || {
        let events = stage.api.all("events");
        events.iter().any(|event| event["reason"] == "CredentialsInUse")
    };
    stage.until("an Event says so", Duration::from_secs(1_200), is_reported).await;
    let data = json!({ "token": encode(b"another token") });
    let other = json!({ "metadata": { "name": "other", "namespace": "team" }, "data": data });
    stage.api.create("secrets", &other).unwrap();
    let reference = json!({ "spec": { "identityRef": { "kind": "Secret", "name": "other" } } });
    // A machine keeps the credentials that its VM was made with until it names others itself.
    for (plural, name) in [(CLUSTERS, "c"), (MACHINES, "vm")] {
        stage.api.edit(plural, &of_team(name), &reference).unwrap();
    }
    let is_gone = || stage.api.find("secrets", &of_team("account")).is_none();
    stage.until("the old ones go", LIMIT, is_gone).await;
    let held = || finalizers_of(&stage, "secrets", &of_team("other")) == json!([finalizers::IDENTITY]);
    stage.until("the new ones are kept", LIMIT, held).await;
    assert_eq!(stage.cloud.vms(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_identity_and_its_secret_are_kept_while_they_are_used() {
    let stage = with_identity(&json!({}));
    let _host = stage.host_without_target("host");
    let held = json!([finalizers::IDENTITY]);
    for (plural, key) in [(IDENTITIES, "central"), ("secrets", "central/keys")] {
        stage.until(plural, LIMIT, || finalizers_of(&stage, plural, key) == held).await;
    }
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    stage.api.delete(IDENTITIES, "central").unwrap();
    for (plural, name) in [(MACHINES, "vm"), (CLUSTERS, "c")] {
        stage.api.delete(plural, &of_team(name)).unwrap();
    }
    stage.until("the identity goes last", LIMIT, || stage.api.find(IDENTITIES, "central").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
    let is_free = || finalizers_of(&stage, "secrets", "central/keys").as_array().is_none_or(Vec::is_empty);
    stage.until("its Secret is free", LIMIT, is_free).await;
}

/// A deletion without credentials would lose the VM.
#[tokio::test(start_paused = true)]
async fn a_deletion_waits_for_credentials_that_are_gone() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    let account = take_away_credentials(&stage);
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    let is_missed = || says(&stage, "vm", "Ready") == ("False".to_owned(), "CredentialsMissing".to_owned());
    stage.until("it says so", LIMIT, is_missed).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(stage.cloud.vms(), 1);
    stage.api.create("secrets", &account).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}

/// No watch shows the Secret: one read tells all machines.
#[tokio::test(start_paused = true)]
async fn credentials_that_are_gone_are_missed_by_every_machine_and_their_return_is_seen_soon() {
    let (stage, _host) = provided().await;
    add_machine(&stage, "second");
    stage.until("the second is provided", LIMIT, || is_provisioned(&stage, "second")).await;
    tokio::time::sleep(LIMIT).await;
    let account = take_away_credentials(&stage);
    let both = |status: &str, reason: &str| {
        ["vm", "second"]
            .iter()
            .all(|name| says(&stage, name, "Ready") == (status.to_owned(), reason.to_owned()))
    };
    // The looks at VMs are further apart.
    let until_read = Duration::from_secs(700);
    stage.until("both miss them", until_read, || both("Unknown", "CredentialsMissing")).await;
    let message = find(&stage, "vm").unwrap()["status"]["conditions"].to_string();
    assert!(message.contains("does not exist: create it"), "{message}");
    let begun = stage.wire.len();
    tokio::time::sleep(Duration::from_secs(300)).await;
    let reads = stage.wire.records_since(begun, |call| call.verb == "GET" && call.what == "secrets");
    // Ten for both, and each machine's own retries, which grow rare.
    assert!((9..=20).contains(&reads.len()), "{}", table(&reads));
    stage.api.create("secrets", &account).unwrap();
    stage.until("both have them", LIMIT, || both("True", "InstanceRunning")).await;
    stage.assert_one_vm_each(2);
}

/// Deletes the Secret whatever holds it, and returns it as somebody creates it again.
fn take_away_credentials(stage: &Stage) -> Value {
    let mut account = stage.api.find("secrets", &of_team("account")).unwrap();
    let without = json!({ "metadata": { "finalizers": null } });
    stage.api.edit("secrets", &of_team("account"), &without).unwrap();
    stage.api.delete("secrets", &of_team("account")).unwrap();
    let metadata = account["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata.remove(field);
    }
    account
}

/// A stage whose machine has a class, with a Secret in this namespace.
fn of_class(namespace: &str) -> Stage {
    let stage = empty(Habits::default());
    *stage.namespace.lock().unwrap() = "team";
    let data = json!({ "token": encode(b"a token of the class"), "userData": encode(b"of the class") });
    let secret = json!({ "metadata": { "name": "of-class", "namespace": namespace }, "data": data });
    stage.api.create("secrets", &secret).unwrap();
    let mut class = crate::fixture::stage::class();
    class["metadata"]["namespace"] = json!("team");
    class["secretRef"] = json!({ "name": "of-class", "namespace": namespace });
    stage.api.create("machineclasses", &class).unwrap();
    add_cluster(&stage);
    stage.api.edit(CLUSTERS, &of_team("c"), &json!({ "spec": { "identityRef": null } })).unwrap();
    add_machine(&stage, "vm");
    let spec = json!({ "provider": null, "providerSpec": null, "classRef": { "name": "small" } });
    stage.api.edit(MACHINES, &of_team("vm"), &json!({ "spec": spec })).unwrap();
    stage
}

/// A namespace that is deleted as a whole deletes its classes and Secrets first.
#[tokio::test(start_paused = true)]
async fn a_class_and_its_secret_stay_until_the_last_machine_of_either_api_is_gone() {
    let stage = of_class("team");
    let _host = stage.host_without_target("host");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    let [class, secret] = [("machineclasses", of_team("small")), ("secrets", of_team("of-class"))];
    let is_held = |(plural, key): &(&str, String)| !finalizers_of(&stage, plural, key).is_null();
    stage.until("both are held", LIMIT, || is_held(&class) && is_held(&secret)).await;
    for (plural, key) in [&secret, &class] {
        stage.api.delete(plural, key).unwrap();
    }
    tokio::time::sleep(LIMIT).await;
    assert!(is_held(&class) && is_held(&secret), "they wait for the machine");
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("the machine is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
    let is_gone = |(plural, key): &(&str, String)| stage.api.find(plural, key).is_none();
    stage.until("both are gone", LIMIT, || is_gone(&class) && is_gone(&secret)).await;
}

/// An operator's word ends a deletion that nothing else can end.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_class_is_lost_is_let_go_by_an_annotation() {
    let stage = of_class("team");
    let _host = stage.host_without_target("host");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    stage
        .until("it is held", LIMIT, || !finalizers_of(&stage, "machineclasses", &of_team("small")).is_null())
        .await;
    stage.api.delete("machineclasses", &of_team("small")).unwrap();
    let without = json!({ "metadata": { "finalizers": null } });
    stage.api.edit("machineclasses", &of_team("small"), &without).unwrap();
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it waits", LIMIT, || says(&stage, "vm", "Ready").1 == "ClassMissing").await;
    let message = find(&stage, "vm").unwrap()["status"]["conditions"].to_string();
    assert!(message.contains("annotate this object with machinist.dev/vm-is-gone=true"), "{message}");
    let gone = json!({ "metadata": { "annotations": { "machinist.dev/vm-is-gone": "true" } } });
    stage.api.edit(MACHINES, &of_team("vm"), &gone).unwrap();
    stage.until("it is let go", LIMIT, || find(&stage, "vm").is_none()).await;
}

/// A look with other credentials would find no VM, and take that for the proof that it is gone.
#[tokio::test(start_paused = true)]
async fn a_vm_is_deleted_with_the_credentials_that_it_was_made_with() {
    let (stage, _host) = provided().await;
    let data = json!({ "token": encode(b"of another account") });
    let other = json!({ "metadata": { "name": "other", "namespace": "team" }, "data": data });
    stage.api.create("secrets", &other).unwrap();
    let reference = json!({ "spec": { "identityRef": { "kind": "Secret", "name": "other" } } });
    stage.api.edit(CLUSTERS, &of_team("c"), &reference).unwrap();
    tokio::time::sleep(LIMIT).await;
    let held = json!([finalizers::IDENTITY]);
    assert_eq!(finalizers_of(&stage, "secrets", &of_team("account")), held, "its machine needs it");
    add_machine(&stage, "later");
    stage.until("another VM is provided", LIMIT, || is_provisioned(&stage, "later")).await;
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    let calls = stage.cloud.secrets();
    let token = |wanted: &str| {
        let (_, brought) = calls.iter().rfind(|(call, _)| *call == wanted).unwrap();
        String::from_utf8(brought.values["token"].clone()).unwrap()
    };
    assert_eq!(token("create"), "of another account");
    assert_ne!(token("delete"), "of another account");
}

/// A class shares provider and parameters with machines of machine-controller-manager, and its credentials where they
/// are in the machine's own namespace.
#[tokio::test(start_paused = true)]
async fn a_class_gives_its_parameters_and_only_credentials_of_the_same_namespace() {
    for (namespace, reason) in [("team", "InstanceRunning"), ("central", "CredentialsRefused")] {
        let stage = of_class(namespace);
        let _host = stage.host_without_target("host");
        stage.until(reason, LIMIT, || says(&stage, "vm", "Ready").1 == reason).await;
        assert_eq!(stage.cloud.vms(), usize::from(namespace == "team"));
        if let Some((_, brought)) = stage.cloud.secrets().first() {
            assert_eq!(brought.values["token"], b"a token of the class");
            assert_eq!(brought.user_data.as_deref(), Some(&b"#cloud-config"[..]), "not that of the class");
        }
    }
}
