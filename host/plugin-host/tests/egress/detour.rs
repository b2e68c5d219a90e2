//! Where a detour leads, and what it does not open.

use std::net::SocketAddr;

use machinist_plugin_host::AddressClass;
use machinist_plugin_host::testing::Reason;

use super::server::{Server, ok};
use super::{Host, Names};

async fn detoured(server: &Server, names: &Names) -> Host {
    let detour = SocketAddr::from(([127, 0, 0, 1], server.port));
    Host::with(names, |settings| settings.detour = Some(detour))
}

#[tokio::test]
async fn all_granted_hosts_lead_to_the_detour_also_those_with_tls() {
    let server = Server::http(|_| ok("here")).await;
    let names = Names::default().with("api.test", &[&["1.1.1.1"]]);
    let host = detoured(&server, &names).await;
    let call = host.call("egress: [{ host: api.test }, { host: api.test, scheme: http, ports: [8080] }]");
    for url in ["https://api.test/a", "http://api.test:8080/b"] {
        assert_eq!(call.get(url).await.unwrap().text(), "here", "{url}");
    }
    assert_eq!(server.accepts(), 2);
}

#[tokio::test]
async fn a_detour_opens_nothing_that_the_grants_do_not() {
    let server = Server::http(|_| ok("secret")).await;
    let names = Names::default().with("api.test", &[&["10.0.0.7"]]).with("other.test", &[&["1.1.1.1"]]);
    let host = detoured(&server, &names).await;
    let call = host.call("egress: [{ host: api.test }]");
    // One by its name, and one by where the name leads.
    call.get("https://other.test/").await.unwrap_err();
    call.get("https://api.test/").await.unwrap_err();
    assert_eq!(server.accepts(), 0);
    assert_eq!(host.reasons().last(), Some(&Reason::Address(AddressClass::Private).name()));
}
