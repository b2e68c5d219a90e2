//! The driver of Google Compute Engine against a cloud that Google's discovery document types.

use ::gcp::test_key::{TestAccount, filled_profile};
use ::gcp::{Config, Server};

use crate::harness::{file, passes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_compute_engine_passes_all_checks() {
    let config = Config { operation_ms: 60, ..Config::default() };
    let account = TestAccount::make(&config.project).expect("openssl makes a key");
    let server = Server::start(config).expect("the cloud starts");
    server.cloud().identity.add_account(&account.email, &account.public_key);
    let profile = filled_profile(&file("plugins/gcp/conformance.yaml"), &account);
    let component = guests::bytes("gcp-driver").expect("the driver builds");
    passes(component, &profile, server.url(), None).await;
}
