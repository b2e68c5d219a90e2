//! The driver of Hetzner Cloud, in Go, against a cloud with the types of the published API.

use guests::Driver;
use hetzner::{Hetzner, Options};

use crate::harness::{file, options, unhurried_report_of};

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
    let report = unhurried_report_of(|| {
        let mut options = options(component.clone(), &profile);
        options.cloud = Some(cloud.url());
        options
    })
    .await;
    println!("{}", report.text());
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.text());
}
