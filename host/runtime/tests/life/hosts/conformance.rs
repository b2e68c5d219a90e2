//! The API server in memory keeps the rules of a real one, as a client sees them.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
};
use kube::{Api, Client, ResourceExt};
use machinist_api::Machine;
use serde_json::{Value, json};

use crate::fixture::stage::{NAMESPACE, Stage, machine};

fn machines(client: &Client) -> Api<Machine> {
    Api::namespaced(client.clone(), NAMESPACE)
}

fn code<T: std::fmt::Debug>(answer: Result<T, kube::Error>) -> (u16, String) {
    match answer {
        Err(kube::Error::Api(status)) => (status.code, status.reason.clone()),
        other => panic!("expected a refusal, not {other:?}"),
    }
}

fn object(name: &str) -> Machine {
    serde_json::from_value(machine(name)).unwrap()
}

async fn patch(api: &Api<Machine>, name: &str, patch: Value) -> Result<Machine, kube::Error> {
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
}

#[tokio::test(start_paused = true)]
async fn an_object_is_created_once_with_what_the_server_adds() {
    let client = Stage::empty().api.client("user");
    let api = machines(&client);
    let mut wished = object("a");
    wished.status = Some(machinist_api::MachineStatus::default());
    let made = api.create(&PostParams::default(), &wished).await.unwrap();
    assert!(made.uid().is_some() && made.creation_timestamp().is_some() && made.resource_version().is_some());
    assert_eq!((made.metadata.generation, made.status), (Some(1), None));
    let answer = api.create(&PostParams::default(), &object("a")).await;
    assert_eq!(code(answer), (409, "AlreadyExists".into()));
    assert_eq!(code(api.get("b").await), (404, "NotFound".into()));
}

#[tokio::test(start_paused = true)]
async fn spec_and_status_are_written_apart_and_only_the_spec_counts_generations() {
    let client = Stage::empty().api.client("user");
    let api = machines(&client);
    let made = api.create(&PostParams::default(), &object("a")).await.unwrap();
    let both = json!({ "spec": { "providerID": "x" }, "status": { "lastKnownState": "y" } });
    let main = patch(&api, "a", both.clone()).await.unwrap();
    assert_eq!((main.provider_id(), main.last_known_state()), (Some("x"), None));
    assert_eq!(main.metadata.generation, Some(2));
    let both = json!({ "spec": { "providerID": "z" }, "status": { "lastKnownState": "y" } });
    let status = api.patch_status("a", &PatchParams::default(), &Patch::Merge(both)).await.unwrap();
    assert_eq!((status.provider_id(), status.last_known_state()), (Some("x"), Some("y")));
    assert_eq!(status.metadata.generation, Some(2));
    assert_ne!(status.resource_version(), made.resource_version());
    // What changes nothing makes no version.
    let same = patch(&api, "a", json!({ "spec": { "providerID": "x" } })).await.unwrap();
    assert_eq!(same.resource_version(), status.resource_version());
    // Labels are no wish.
    let labelled = patch(&api, "a", json!({ "metadata": { "labels": { "l": "1" } } })).await.unwrap();
    assert_eq!(labelled.metadata.generation, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_write_with_another_uid_or_version_is_refused() {
    let client = Stage::empty().api.client("user");
    let api = machines(&client);
    let made = api.create(&PostParams::default(), &object("a")).await.unwrap();
    let refused = [
        (json!({ "uid": "other" }), (422, "Invalid".into())),
        (json!({ "resourceVersion": "1234" }), (409, "Conflict".into())),
    ];
    for (metadata, expected) in refused {
        let answer = patch(&api, "a", json!({ "metadata": metadata })).await;
        assert_eq!(code(answer), expected, "{metadata}");
    }
    let with = |uid: Option<&str>, version: Option<&str>| DeleteParams {
        preconditions: Some(Preconditions {
            uid: uid.map(str::to_owned),
            resource_version: version.map(str::to_owned),
        }),
        ..DeleteParams::default()
    };
    assert_eq!(code(api.delete("a", &with(Some("other"), None)).await).0, 409);
    assert_eq!(code(api.delete("a", &with(None, Some("1234"))).await).0, 409);
    let uid = made.uid().unwrap();
    api.delete("a", &with(Some(&uid), made.resource_version().as_deref())).await.unwrap();
    assert_eq!(code(api.get("a").await).0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let client = Stage::empty().api.client("user");
    let api = machines(&client);
    let mut wished = object("a");
    wished.metadata.finalizers = Some(vec!["x/y".into()]);
    api.create(&PostParams::default(), &wished).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let going = api.get("a").await.unwrap();
    assert!(going.metadata.deletion_timestamp.is_some());
    assert_eq!(going.metadata.generation, Some(2));
    let more = json!({ "metadata": { "finalizers": ["x/y", "z/z"] } });
    assert_eq!(code(patch(&api, "a", more).await).0, 422);
    patch(&api, "a", json!({ "metadata": { "finalizers": [] } })).await.unwrap();
    assert_eq!(code(api.get("a").await).0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_watch_brings_what_happened_since_its_version_and_what_happens_then() {
    let client = Stage::empty().api.client("user");
    let api = machines(&client);
    api.create(&PostParams::default(), &object("a")).await.unwrap();
    let version = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    api.create(&PostParams::default(), &object("b")).await.unwrap();
    let mut events =
        api.watch(&WatchParams::default().timeout(10).disable_bookmarks(), &version).await.unwrap().boxed();
    let delete = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        api.delete("a", &DeleteParams::default()).await.unwrap();
    };
    let read = async {
        let mut seen = Vec::new();
        while let Some(event) = events.try_next().await.unwrap() {
            seen.push(match event {
                WatchEvent::Added(object) => format!("added {}", object.name_any()),
                WatchEvent::Deleted(object) => {
                    let version: u64 = object.resource_version().unwrap().parse().unwrap();
                    format!("deleted {} at {version}", object.name_any())
                }
                other => format!("{other:?}"),
            });
        }
        seen
    };
    let (seen, ()) = futures::join!(read, delete);
    assert_eq!(seen, ["added b", "deleted a at 3"], "the watch ends after its time");
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_before_what_is_remembered_has_expired() {
    let stage = Stage::empty();
    let api = machines(&stage.api.client("user"));
    api.create(&PostParams::default(), &object("a")).await.unwrap();
    api.create(&PostParams::default(), &object("b")).await.unwrap();
    stage.api.compact();
    let mut events = api.watch(&WatchParams::default(), "1").await.unwrap().boxed();
    assert!(
        matches!(events.try_next().await.unwrap(), Some(WatchEvent::Error(status)) if status.code == 410)
    );
}

#[tokio::test(start_paused = true)]
async fn listings_come_in_pages_and_by_label() {
    let stage = Stage::empty();
    let client = stage.api.client("user");
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "1")] {
        let map = json!({ "metadata": { "name": name, "labels": { "l": label } } });
        api.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }
    let mut params = ListParams::default().labels("l=1").limit(2);
    let first = api.list(&params).await.unwrap();
    params.continue_token = first.metadata.continue_.clone();
    let second = api.list(&params).await.unwrap();
    let names = |list: &kube::api::ObjectList<ConfigMap>| -> Vec<String> {
        list.items.iter().map(ResourceExt::name_any).collect()
    };
    assert_eq!((names(&first), names(&second)), (vec!["a".into(), "c".into()], vec!["d".to_owned()]));
    assert_eq!(second.metadata.continue_, None);
    assert_eq!(first.metadata.resource_version, second.metadata.resource_version);
    // What leaves the selection is deleted for who watches it.
    let version = first.metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("l=1").timeout(1).disable_bookmarks();
    let events = api.watch(&params, &version).await.unwrap();
    let relabel = Patch::Merge(json!({ "metadata": { "labels": { "l": "2" } } }));
    api.patch("a", &PatchParams::default(), &relabel).await.unwrap();
    let events: Vec<WatchEvent<ConfigMap>> = events.try_collect().await.unwrap();
    assert!(matches!(events.as_slice(), [WatchEvent::Deleted(map)] if map.name_any() == "a"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_brings_its_status_when_it_creates_its_node() {
    let stage = Stage::empty();
    let api: Api<Node> = Api::all(stage.api.client("user"));
    let node = json!({ "metadata": { "name": "n" }, "status": { "conditions": [] , "phase": "Running" } });
    let made = api.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
    assert_eq!(made.status.unwrap().phase.as_deref(), Some("Running"));
}
