//! The driver of OpenStack, in Go, against the released services.

use ::openstack::{Openstack, Options};
use guests::Driver;

use crate::harness::{file, passes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: the services of OpenStack, which take minutes to install"]
async fn the_driver_of_openstack_passes_all_checks_that_apply() {
    let cloud = Openstack::start_prepared(Options::default()).await.expect("the cloud starts");
    let component = Driver::Go { folder: "plugins/openstack" }.build().expect("the driver builds");
    let profile = filled_profile(&cloud);
    passes(component, &profile, cloud.url(), Some(cloud.admin_url())).await;
}

/// The driver's profile with the ids of this cloud.
fn filled_profile(cloud: &Openstack) -> String {
    let facts = cloud.facts();
    file("plugins/openstack/conformance.yaml")
        .replace("IMAGE", &facts.image_id)
        .replace("NETWORK", &facts.nodes_network_id)
        .replace("CREDENTIAL", &facts.application_credential_id)
        .replace("VALUE", &facts.application_credential_secret)
}
