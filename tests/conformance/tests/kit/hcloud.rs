//! The driver of Hetzner Cloud, in Go, against a cloud with the types of the published API.

use guests::Driver;
use hetzner::{Hetzner, Options};

use crate::harness::{file, passes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_hetzner_cloud_passes_all_checks_that_apply() {
    let cloud = Hetzner::start(Options {
        is_project_for_each_cluster: true,
        requests_per_hour: 3_600_000,
        ..Options::default()
    })
    .expect("the cloud starts");
    let component = Driver::Go { folder: "plugins/hcloud" }.build().expect("the driver builds");
    let profile = file("plugins/hcloud/conformance.yaml");
    passes(component, &profile, cloud.url(), None).await;
}
