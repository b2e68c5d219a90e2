//! Recordings beside the drivers: each driver still does the same.

use std::path::{Path, PathBuf};

use machinist_plugin_host::testing::write_recording;
use machinist_plugin_host::{Recording, read_recordings};

use super::{aws, life, play};

/// Set: what the driver does is taken for what it is to do.
const RECORD_AGAIN: &str = "MACHINIST_RECORD_ANEW";

fn beside(driver: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(driver).join("recordings")
}

fn record_again(folder: &Path, recordings: &[Recording]) {
    let _absent = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    for (number, recording) in recordings.iter().enumerate() {
        let name = format!("{:02}-{}.json", number + 1, recording.operation);
        write_recording(&folder.join(name), recording).expect("writes");
    }
}

/// Returns the differences between a driver and its recordings, and how to record again.
async fn changes(driver: &str) -> String {
    let all = read_recordings(&beside(driver)).expect("recordings");
    let recordings: Vec<Recording> = all.iter().map(|(_, recording)| recording.clone()).collect();
    let mut changes = String::new();
    for ((path, _), played) in all.iter().zip(play(driver, &recordings).await) {
        for difference in played.expect("plays").differences {
            changes += &format!("{}: {difference}\n", path.display());
        }
    }
    if !changes.is_empty() {
        let command = "cargo test -p machinist-plugin-host --test sandbox recordings::regression";
        changes = format!(
            "the driver {driver} does otherwise:\n{changes}If that is meant: {RECORD_AGAIN}=1 {command}"
        );
    }
    changes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_the_simulated_cloud_does_what_it_did() {
    if std::env::var_os(RECORD_AGAIN).is_some() {
        record_again(&beside("sim"), &life().await.0);
    }
    let changes = changes("sim").await;
    assert!(changes.is_empty(), "{changes}");
    let calls = read_recordings(&beside("sim")).expect("recordings").len();
    assert!(calls >= 10, "{calls} calls");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_ec2_does_what_it_did() {
    if std::env::var_os(RECORD_AGAIN).is_some() {
        record_again(&beside("aws"), &aws::life().await);
    }
    let changes = changes("aws").await;
    assert!(changes.is_empty(), "{changes}");
    let all = read_recordings(&beside("aws")).expect("recordings");
    let has = |operation: &str, is_error: bool| {
        let ended = |recording: &Recording| {
            let end = serde_json::to_value(&recording.end).expect("JSON");
            end.pointer("/answered/answer/Err").is_some() == is_error
        };
        all.iter().any(|(_, recording)| recording.operation == operation && ended(recording))
    };
    for operation in ["CreateMachine", "GetMachineStatus", "ValidateClass"] {
        assert!(has(operation, true), "no {operation} that is refused");
    }
    for operation in [
        "CreateMachine", "InitializeMachine", "GetMachineStatus", "ListMachines", "RebootMachine",
        "ValidateClass", "GetVolumeIDs", "DeleteMachine", "GetNodeID", "PlaceClass", "IsInterruptible",
        "GetNodeCapacity",
    ] {
        assert!(has(operation, false), "no {operation} that is answered");
    }
    let is_throttled = |text: &str| text.contains("RequestLimitExceeded");
    let texts: Vec<String> =
        all.iter().map(|(path, _)| std::fs::read_to_string(path).expect("text")).collect();
    assert!(texts.iter().any(|text| is_throttled(text)), "no call that the cloud put off");
    for (text, secret) in texts
        .iter()
        .flat_map(|text| aws::secrets_of_the_tests().into_iter().map(move |secret| (text, secret)))
    {
        assert!(!text.contains(&secret), "{secret} is in\n{text}");
    }
}

/// The end-to-end tests `clouds` record them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_drivers_of_other_clouds_do_what_they_did() {
    for driver in ["gcp", "hcloud", "lxd"] {
        let changes = changes(driver).await;
        assert!(changes.is_empty(), "{changes}");
        let all = read_recordings(&beside(driver)).expect("recordings");
        for operation in ["CreateMachine", "GetMachineStatus", "DeleteMachine", "ValidateClass"] {
            let is_there = all.iter().any(|(_, recording)| recording.operation == operation);
            assert!(is_there, "{driver}: no {operation} is recorded");
        }
    }
}

/// The test of EC2 fails for a driver that does otherwise: here for another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_answer_of_ec2_is_a_difference() {
    let all = read_recordings(&beside("aws")).expect("recordings");
    let mut list =
        all.into_iter().map(|(_, recording)| recording).find(|one| one.operation == "ListMachines");
    let list = list.as_mut().expect("a list");
    let text = serde_json::to_string(&list.http).expect("JSON").replace("i-", "i-f");
    list.http = serde_json::from_str(&text).expect("exchanges");
    let played = play("aws", std::slice::from_ref(list)).await.remove(0).expect("plays");
    assert!(!played.differences.is_empty());
}
