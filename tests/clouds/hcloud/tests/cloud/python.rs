//! Hetzner's own client for Python uses the cloud.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hetzner::{Hetzner, Options};

const REQUIREMENTS: &str = include_str!("../../requirements.txt");

fn run(command: &mut Command) {
    let output = command.output().expect("the program of the environment starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {text}{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn hetzners_own_client_for_python_finds_everything_as_it_expects_it() {
    let options = Options { action_time: Duration::from_millis(100), ..Options::default() };
    let cloud = Hetzner::start(options.clone()).expect("a cloud");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cloud/python_client.py");
    let python =
        pinned_python::prepare("hcloud-python", REQUIREMENTS).expect("Hetzner's client is installed");
    run(Command::new(python).arg("-I").arg(script).args([
        cloud.url(),
        options.token,
        options.read_only_token,
    ]));
    assert_eq!(cloud.leftovers(), hetzner::Leftovers::default());
}
