//! Calls that are recorded, and recordings that are played.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `aws` | a life of an instance of EC2, recorded against the emulator |
//! | `bad` | files that are no recordings, and recordings that cannot be played |
//! | `playing` | results of a replay: equal, or the differences |
//! | `regression` | recordings beside the drivers: each driver still does the same |
//! | `secrecy` | no value of a secret is in a recording |
//! | `storing` | the folder of recordings, their number, and that no call waits for them |

mod aws;
mod bad;
mod playing;
mod regression;
mod secrecy;
mod storing;

use std::collections::BTreeMap;
use std::path::Path;

use guests::Driver;
use machinist_core::driver::{ClassRequest, Creation, ListRequest, MachineRequest, SecretValues};
use machinist_plugin_host::{
    Declared, Difference, HostSettings, PluginHost, RecordSettings, Recording, ReplayError, Replayed,
    read_recordings,
};

use crate::fixture::{Fixture, Map, class, request, settings};

const TOKEN: &str = "canary/token+3f9b2d7c51\"é";
const BOOTSTRAP: &str = "canary.0123456789abcdef";
const USER_DATA: &str = "#cloud-config\nbootstrap: canary.0123456789abcdef\n";
const SPEC_ELSEWHERE: &str = r#"{"image":"linux-1","type":"sim.small","zone":"sim-1b"}"#;
const SPEC: &str = r#"{"zone":"sim-1a","type":"sim.small","image":"linux-1"}"#;

fn recording_into(folder: &Path) -> HostSettings {
    let record =
        RecordSettings { folder: folder.to_owned(), plugins: Default::default(), limit_bytes: 64 << 20 };
    HostSettings { record: Some(record), ..settings() }
}

fn with_secrets(mut request: MachineRequest) -> MachineRequest {
    request.secrets = secrets();
    request
}

fn secrets() -> SecretValues {
    let values = BTreeMap::from([("token".to_owned(), TOKEN.as_bytes().to_vec())]);
    SecretValues { values, user_data: Some(USER_DATA.as_bytes().to_vec()), ..SecretValues::default() }
}

/// All that was recorded, without what was asked when the plugin was loaded.
async fn recorded(world: &Fixture, folder: &Path) -> Vec<Recording> {
    world.host.shutdown().await;
    let all = read_recordings(folder).expect("recordings");
    all.into_iter()
        .map(|(_, recording)| recording)
        .filter(|recording| recording.operation != "Describe")
        .collect()
}

/// A host that records nothing, and reaches nothing.
fn player() -> PluginHost {
    Fixture::new().host
}

fn declared(name: &str) -> Declared {
    let component = match name {
        "hcloud" => Driver::Go { folder: "plugins/hcloud" }.build(),
        "lxd" => Driver::JavaScript { folder: "plugins/lxd" }.build(),
        _ => guests::bytes(&format!("{name}-driver")),
    };
    let raw = Map::new(name, component.expect("the driver builds")).0;
    let declared = raw.declared().expect("a plugin");
    let component = match declared.component.clone() {
        machinist_plugin_host::Content::Whole(component) => component,
        machinist_plugin_host::Content::Parts(_) | machinist_plugin_host::Content::Remote(_) => {
            panic!("it is whole")
        }
    };
    declared.with(component)
}

async fn play(name: &str, recordings: &[Recording]) -> Vec<Result<Replayed, ReplayError>> {
    player().replay(declared(name), recordings.to_vec()).await.expect("loads")
}

/// Plays one and says in what it differs.
async fn differences(name: &str, recording: &Recording) -> Vec<Difference> {
    let mut played = play(name, std::slice::from_ref(recording)).await;
    played.remove(0).expect("plays").differences
}

/// A life of a VM of the simulated cloud, recorded.
async fn life() -> (Vec<Recording>, String) {
    let mut config = simcloud::Config { latency: simcloud::Latency::ZERO, ..simcloud::Config::default() };
    config.accounts[0].tokens[0].token = TOKEN.replace(['"', 'é'], "");
    let cloud = simcloud::Server::start(config).expect("starts");
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let grants = include_str!("../../../../../plugins/sim/grants.yaml")
        .replace("PORT", &cloud.addr().port().to_string());
    let map = Map::new("sim", guests::bytes("sim-driver").expect("the driver builds"))
        .data("grants.yaml", &grants)
        .data("settings.json", &format!(r#"{{"endpoint":"{}"}}"#, cloud.url()));
    world.ready(map).await;
    let values = BTreeMap::from([("token".to_owned(), TOKEN.replace(['"', 'é'], "").into_bytes())]);
    let secrets =
        SecretValues { values, user_data: Some(USER_DATA.as_bytes().to_vec()), ..SecretValues::default() };
    let ask = || MachineRequest { secrets: secrets.clone(), ..request("sim", SPEC) };
    let created = world.host.create(ask()).await;
    let Ok(Creation::Created(vm)) = created else { panic!("{created:?}") };
    let mut known = ask();
    known.machine.provider_id = Some(vm.provider_id.clone());
    world.host.get_status(known.clone()).await.expect("is there");
    let list =
        ListRequest { class: class("sim", SPEC), cluster: "cluster-1".to_owned(), token: None, secrets };
    assert_eq!(world.host.list(list).await.expect("lists").machines.len(), 1);
    world.host.reboot(known.clone()).await.expect("starts anew");
    world.host.validate_class(class("sim", "{}")).await.expect_err("is no class");
    world.host.get_volume_ids("sim".into(), None, vec!["{}".to_owned()]).await.expect("none");
    let node = world.host.node_id(known.clone(), vm.clone()).await;
    assert_eq!(node, Ok(vm.provider_id), "the kubelets of this cloud register so");
    let placed = world.host.place(known.clone(), "sim-1b".into()).await.expect("is placed");
    assert_eq!(placed, SPEC_ELSEWHERE);
    assert_eq!(world.host.is_interruptible(known.clone()).await, Ok(false), "the class does not say so");
    let class_request = ClassRequest { class: class("sim", SPEC), secrets: known.secrets.clone() };
    let resources = world.host.node_capacity(class_request).await.expect("has a size").resources;
    assert_eq!(
        resources.iter().map(|(name, is)| format!("{name}={is}")).collect::<Vec<_>>(),
        ["cpu=2", "memory=4Gi"]
    );
    world.host.delete(known).await.expect("goes");
    let recordings = recorded(&world, folder.path()).await;
    (recordings, cloud.url())
}
