//! Recordings that are none.

use machinist_plugin_host::testing::{FORMAT, KeyFact};
use machinist_plugin_host::{Recording, read_recordings};
use serde_json::json;

use super::{Fixture, play, recorded, recording_into, request};
use crate::fixture::Map;

async fn one() -> Recording {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    world.host.create(request("plain", "{}")).await.expect("creates");
    recorded(&world, folder.path()).await.remove(0)
}

#[tokio::test]
async fn a_file_that_is_no_recording_says_what_it_is_instead() {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("call.json");
    let error_of = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("writes");
        let error = machinist_plugin_host::testing::read_recording(&file).expect_err("is no recording");
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        format!("{error}: {source}")
    };
    let good = serde_json::to_vec_pretty(&one().await).expect("JSON");
    for length in [0, 1, 40, good.len() / 2, good.len() - 2] {
        let message = error_of(&good[..length]);
        assert!(message.contains("call.json is cut off in line"), "{length}: {message}");
    }
    assert!(error_of(b"\x00asm").contains("call.json is no recording"));
    assert!(error_of(b"{}").contains("missing field"));
    assert!(error_of(b"[1]").contains("no recording"));
    let mut later: serde_json::Value = serde_json::from_slice(&good).expect("JSON");
    later["format"] = json!(FORMAT + 1);
    later["unknown"] = json!(1);
    let message = error_of(later.to_string().as_bytes());
    assert!(message.contains("has the format 2, and this host reads 1: record again"), "{message}");
    later["format"] = json!(FORMAT);
    assert!(error_of(later.to_string().as_bytes()).contains("unknown field `unknown`"));
    std::fs::write(&file, &good).expect("writes");
    assert!(machinist_plugin_host::testing::read_recording(&file).is_ok());

    let empty = root.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let message = read_recordings(&empty).expect_err("is empty").to_string();
    assert!(message.contains("there is no recording (*.json) in"), "{message}");
    assert!(read_recordings(&root.path().join("absent")).is_err());
}

#[tokio::test]
async fn a_recording_that_cannot_be_played_is_reported_and_the_next_one_is_played() {
    let good = one().await;
    let change = |change: &dyn Fn(&mut Recording)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed
    };
    let recordings = [
        change(&|recording| recording.operation = "FlyMachine".to_owned()),
        change(&|recording| recording.question = json!({ "machine": 1 })),
        change(&|recording| recording.operation = "ListMachines".to_owned()),
        change(&|recording| recording.seed = "00".to_owned()),
        change(&|recording| {
            recording.secrets.keys = vec![KeyFact { key: "token".to_owned(), bytes: u64::MAX }];
        }),
        change(&|recording| recording.format = 7),
        good.clone(),
    ];
    let played = play("plain", &recordings).await;
    let message: Vec<String> = played
        .iter()
        .map(|played| played.as_ref().err().map(ToString::to_string).unwrap_or_default())
        .collect();
    let expected = [
        "the recording is of a call \"FlyMachine\"",
        "the arguments of CreateMachine do not fit the contract",
        "the arguments of ListMachines do not fit the contract",
        "the recording has no usable seed",
        "a secret of 18446744073709551615 bytes",
        "the recording has the format 7",
        "",
    ];
    for (message, expected) in message.iter().zip(expected) {
        assert!(message.contains(expected), "{message}");
    }
    assert!(
        played.last().is_some_and(|played| played.as_ref().is_ok_and(|played| played.differences.is_empty()))
    );
}

#[tokio::test]
async fn limits_that_no_host_has_room_for_do_no_harm() {
    let mut recording = one().await;
    recording.limits.memory_bytes = u64::MAX;
    recording.limits.table_elements = u64::MAX;
    recording.limits.cpu_ms = u64::MAX;
    recording.limits.deadline_ms = u64::MAX;
    recording.limits.copied_bytes = u64::MAX;
    recording.limits.handles = u64::MAX;
    let played = play("plain", &[recording]).await.remove(0).expect("plays");
    let differences = &played.differences;
    assert!(differences.is_empty(), "{differences:?}");
}

#[tokio::test]
async fn a_recording_of_another_driver_is_a_difference_and_no_accident() {
    let mut recording = one().await;
    recording.question["class"]["spec"] = json!("not JSON");
    let played = play("hostile", &[recording]).await.remove(0).expect("plays");
    assert!(!played.differences.is_empty());
}
