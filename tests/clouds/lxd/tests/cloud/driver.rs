//! The driver in TypeScript on a real LXD: its own test loses each request of a life in turn.

use std::path::Path;
use std::process::Stdio;

use lxd::{Lxd, Options};
use tokio::process::Command;

use crate::TURN;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn the_driver_makes_one_instance_and_leaves_none_whatever_is_lost() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options::default()).await.unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let tested = Command::new("node")
        .args(["sdk/js/tools/machinist-js.js", "test", "plugins/lxd"])
        .current_dir(&root)
        .env("LXD_TEST_URL", cloud.admin_url())
        .stdin(Stdio::null())
        .output()
        .await
        .expect("node runs: install Node.js 20 or later with npm");
    let said = String::from_utf8_lossy(&tested.stdout);
    assert!(tested.status.success(), "{said}{}", String::from_utf8_lossy(&tested.stderr));
    assert!(said.contains("with a real LXD"), "{said}");
    assert_eq!(cloud.leftovers().await.unwrap(), Vec::<String>::new());
}
