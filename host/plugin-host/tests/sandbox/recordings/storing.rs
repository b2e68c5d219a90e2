//! Where recordings lie, how many of them, and that no call waits for them.

use std::os::unix::fs::PermissionsExt as _;

use machinist_plugin_host::{HostSettings, RecordSettings, read_recordings};

use super::{Fixture, recording_into, request, settings};
use crate::fixture::Map;

fn record(settings: &mut HostSettings) -> &mut RecordSettings {
    settings.record.as_mut().expect("it records")
}

#[tokio::test]
async fn a_recording_is_a_file_of_its_own_for_this_user_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("recordings");
    let world = Fixture::with(recording_into(&folder));
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    world.version("plain").await;
    world.host.shutdown().await;
    let files = read_recordings(&folder).expect("recordings");
    let names: Vec<String> =
        files.iter().map(|(path, _)| path.strip_prefix(&folder).unwrap().display().to_string()).collect();
    assert!(names[0].starts_with("plain/2") && names[0].ends_with("-000001-Describe.json"), "{names:?}");
    assert!(names[1].ends_with("-000002-CreateMachine.json"), "{names:?}");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files[0].0)), (0o700, 0o600));
    assert_eq!(world.metric("machinist_plugin_recordings_total{outcome=\"written\"}"), 2);
    let left = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 1, "no draft is left");
}

#[tokio::test]
async fn the_oldest_go_when_there_is_no_room_also_those_of_an_earlier_process() {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..2 {
        let mut settings = recording_into(folder.path());
        record(&mut settings).limit_bytes = 12_000;
        let world = Fixture::with(settings);
        world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
        for _ in 0..20 {
            world.version("plain").await;
        }
        world.host.shutdown().await;
        assert_eq!(world.metric("machinist_plugin_recordings_total{outcome=\"written\"}"), 21);
        let files = read_recordings(folder.path()).expect("recordings");
        let bytes: u64 = files.iter().map(|(path, _)| std::fs::metadata(path).expect("is there").len()).sum();
        assert!(bytes <= 12_000 && bytes > 6_000, "{bytes} bytes in round {round}");
        assert!(
            files.last().is_some_and(|(path, _)| path.to_string_lossy().contains("-000021-")),
            "{files:?}"
        );
    }
}

#[tokio::test]
async fn only_calls_of_the_plugins_that_are_named_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = recording_into(folder.path());
    record(&mut settings).plugins = [machinist_core::value::id::PluginName::new("one")].into();
    let world = Fixture::with(settings);
    world.ready(Map::plain("one", "1.0.0", &["one"])).await;
    world.ready(Map::plain("two", "1.0.0", &["two"])).await;
    world.version("one").await;
    world.version("two").await;
    world.host.shutdown().await;
    let files = read_recordings(folder.path()).expect("recordings");
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|(_, recording)| recording.plugin == "one"));
}

#[tokio::test]
async fn calls_go_on_when_nothing_can_be_written() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("recordings");
    let world = Fixture::with(recording_into(&folder));
    std::fs::remove_dir_all(&folder).expect("goes");
    std::fs::write(&folder, "in the way").expect("writes");
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    world.host.shutdown().await;
    assert_eq!(world.metric("machinist_plugin_recordings_total{outcome=\"failed\"}"), 2);
}

#[tokio::test]
async fn an_unusable_folder_is_reported_at_the_start() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let error =
        machinist_plugin_host::PluginHost::start(recording_into(file.path())).err().expect("is refused");
    assert!(error.to_string().contains("failed to open the folder of the recordings"), "{error}");
}

#[tokio::test]
async fn a_call_that_nobody_waited_for_is_recorded_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    world.ready(Map::new("hostile", hostile)).await;
    let call = world.host.create(request("hostile", r#"{"do":"sleep"}"#));
    let _ended = tokio::time::timeout(std::time::Duration::from_millis(300), call).await.expect_err("sleeps");
    world.host.shutdown().await;
    let files = read_recordings(folder.path()).expect("recordings");
    let ends: Vec<_> = files.iter().map(|(_, recording)| &recording.end).collect();
    assert_eq!(ends.last(), Some(&&machinist_plugin_host::testing::End::Dropped), "{ends:?}");
}

#[test]
fn nothing_is_recorded_unless_it_is_wished() {
    assert_eq!(settings().record, None);
}
