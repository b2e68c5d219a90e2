//! The driver of LXD, in TypeScript, against Debian's LXD.

use ::lxd::{Lxd, Options};
use guests::Driver;

use crate::harness::{file, passes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn the_driver_of_lxd_passes_all_checks_that_apply() {
    let cloud = Lxd::start_prepared(Options::default()).await.expect("the cloud starts");
    let component = Driver::JavaScript { folder: "plugins/lxd" }.build().expect("the driver builds");
    let profile = file("plugins/lxd/conformance.yaml");
    passes(component, &profile, cloud.url(), Some(cloud.admin_url())).await;
}
