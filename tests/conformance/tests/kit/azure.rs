//! The driver of Azure against a cloud that Microsoft's models type.

use azure_cloud::{Options, Server};

use crate::harness::{file, passes};

/// Fewer rows than the machines of `list/pages` have resources: the size of a page is in the body of a query, where the
/// kit's proxy does not change it.
const PAGE_ROWS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_azure_passes_all_checks_that_apply() {
    let options = Options { page_rows: PAGE_ROWS, ..Options::default() };
    let server = Server::start(options).expect("the cloud starts");
    let component = guests::bytes("azure-driver").expect("the driver builds");
    let profile = file("plugins/azure/conformance.yaml");
    passes(component, &profile, server.url(), None).await;
}
