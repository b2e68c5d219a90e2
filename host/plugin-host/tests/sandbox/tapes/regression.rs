//! Recordings that lie beside the drivers: each does what it did when they were made.

use std::path::{Path, PathBuf};

use machinist_plugin_host::tape::{Recording, folder};

use super::{life, play};

/// Set: what the driver does is taken for what it is to do.
const ANEW: &str = "MACHINIST_RECORD_ANEW";

fn beside(driver: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(driver).join("recordings")
}

fn record_anew(folder: &Path, recordings: &[Recording]) {
    let _absent = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    for (number, recording) in recordings.iter().enumerate() {
        let name = format!("{:02}-{}.json", number + 1, recording.operation);
        folder::write(&folder.join(name), recording).expect("writes");
    }
}

/// What a driver does otherwise than its recordings say, and how to record anew.
async fn told(driver: &str) -> String {
    let all = folder::read_all(&beside(driver)).expect("recordings");
    let recordings: Vec<Recording> = all.iter().map(|(_, recording)| recording.clone()).collect();
    let mut told = String::new();
    for ((path, _), played) in all.iter().zip(play(driver, &recordings).await) {
        for difference in played.expect("plays").differences {
            told += &format!("{}: {difference}\n", path.display());
        }
    }
    if !told.is_empty() {
        let command = "cargo test -p machinist-plugin-host --test sandbox tapes::regression";
        told = format!("the driver {driver} does otherwise:\n{told}If that is meant: {ANEW}=1 {command}");
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_the_simulated_cloud_does_what_it_did() {
    if std::env::var_os(ANEW).is_some() {
        record_anew(&beside("sim"), &life().await.0);
    }
    let told = told("sim").await;
    assert!(told.is_empty(), "{told}");
    let calls = folder::read_all(&beside("sim")).expect("recordings").len();
    assert!(calls >= 7, "{calls} calls");
}
