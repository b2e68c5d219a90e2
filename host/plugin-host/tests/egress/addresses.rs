//! The addresses that may be dialled.

use machinist_plugin_host::AddressClass;
use machinist_plugin_host::testing::Reason;

use super::server::{Server, ok};
use super::{Host, Method, Names, WasiError, loopback, named, request};

#[tokio::test]
async fn no_notation_of_an_address_reaches_what_is_not_granted() {
    let server = Server::http(|_| ok("secret")).await;
    let host = Host::new(&Names::default());
    let port = server.port;
    let call = host.call("egress: [{ host: api.test, scheme: http }, { host: '*.api.test', scheme: http }]");
    let hosts = [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "[::ffff:127.0.0.1]",
        "[::1]", "[::]", "0.0.0.0", "0", "localhost", "localhost.", "169.254.169.254", "2852039166",
        "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "[fd00:ec2::254]",
        "api.test.evil.test", "127.0.0.1.api.testx",
    ];
    for name in hosts {
        let error = call.get(&format!("http://{name}:{port}/")).await.unwrap_err();
        assert!(
            matches!(error, WasiError::HttpRequestDenied | WasiError::HttpRequestUriInvalid),
            "{name}: {error:?}"
        );
    }
    for userinfo in ["api.test@127.0.0.1", "api.test:80@127.0.0.1"] {
        let error = call.get(&format!("http://{userinfo}:{port}/")).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestUriInvalid), "{userinfo}: {error:?}");
    }
    assert_eq!(server.accepts(), 0);
    assert_eq!(host.reasons().len(), hosts.len() + 2);
    assert_eq!(call.session.refusals(), hosts.len() as u64 + 2);
    assert!(host.egress.refused(&host.plugin, Reason::Target) >= 2);
}

#[tokio::test]
async fn a_name_is_refused_by_the_addresses_it_leads_to() {
    let server = Server::http(|_| ok("secret")).await;
    for (class, addresses) in [
        (AddressClass::Loopback, &["127.0.0.1"][..]),
        (AddressClass::Loopback, &["8.8.8.8", "127.0.0.1"]),
        (AddressClass::Loopback, &["::1"]),
        (AddressClass::Loopback, &["::ffff:127.0.0.1"]),
        (AddressClass::Loopback, &["64:ff9b::7f00:1"]),
        (AddressClass::Metadata, &["169.254.169.254"]),
        (AddressClass::Metadata, &["fd00:ec2::254"]),
        (AddressClass::Metadata, &["2002:a9fe:a9fe::"]),
        (AddressClass::LinkLocal, &["fe80::1"]),
        (AddressClass::Private, &["10.1.2.3"]),
        (AddressClass::Shared, &["100.64.0.1"]),
        (AddressClass::Unusable, &["0.0.0.0"]),
        (AddressClass::Unusable, &["::"]),
        (AddressClass::Unusable, &["255.255.255.255"]),
    ] {
        let host = Host::new(&Names::default().with("rebind.test", &[addresses]));
        let call =
            host.call(&format!("egress: [{{ host: rebind.test, scheme: http, ports: [{}] }}]", server.port));
        let error = call.get(&format!("http://rebind.test:{}/", server.port)).await.unwrap_err();
        assert!(matches!(error, WasiError::DestinationIpProhibited), "{addresses:?}: {error:?}");
        assert_eq!(host.reasons(), [Reason::Address(class).name()], "{addresses:?}");
        assert_eq!(host.egress.refused(&host.plugin, Reason::Address(class)), 1);
    }
    assert_eq!(server.accepts(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_looked_up_and_checked_once_for_each_connection() {
    let server = Server::http(|seen| {
        let mut response = ok(seen.uri.path().to_owned());
        response.headers_mut().insert("connection", "close".parse().unwrap());
        response
    })
    .await;
    let names = Names::default().with("rebind.test", &[&["127.0.0.1"], &["169.254.169.254"]]);
    let host = Host::new(&names);
    let call = host.call(&named("rebind.test", server.port));
    let url = format!("http://rebind.test:{}/a", server.port);
    assert_eq!(call.get(&url).await.unwrap().text(), "/a");
    assert_eq!(names.lookups(), ["rebind.test"]);
    let error = call.get(&url).await.unwrap_err();
    assert!(matches!(error, WasiError::DestinationIpProhibited), "{error:?}");
    assert_eq!(names.lookups().len(), 2);
}

#[tokio::test]
async fn rules_with_other_address_classes_share_no_connection() {
    let server = Server::http(|_| ok("")).await;
    let host = Host::new(&Names::default().with("a.test", &[&["127.0.0.1"]]));
    let grants = format!(
        "egress:\n- {{ host: a.test, scheme: http, ports: [{port}], paths: [/in/], addresses: loopback }}\n\
         - {{ host: a.test, scheme: http, ports: [{port}] }}",
        port = server.port
    );
    let call = host.call(&grants);
    call.get(&format!("http://a.test:{}/in/x", server.port)).await.unwrap();
    let error = call.get(&format!("http://a.test:{}/out", server.port)).await.unwrap_err();
    assert!(matches!(error, WasiError::DestinationIpProhibited), "{error:?}");
}

#[tokio::test]
async fn a_redirect_goes_to_the_component_and_nowhere_else() {
    let other = Server::http(|_| ok("secret")).await;
    let location = other.url("/latest");
    let server = Server::http(move |_| {
        let mut response = ok("");
        *response.status_mut() = http::StatusCode::FOUND;
        response.headers_mut().insert("location", location.parse().unwrap());
        response
    })
    .await;
    let host = Host::new(&Names::default());
    let call = host.call(&loopback(server.port));
    let answer = call.get(&server.url("/")).await.unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(answer.headers["location"], other.url("/latest"));
    assert!(matches!(call.get(&other.url("/latest")).await, Err(WasiError::HttpRequestDenied)));
    assert_eq!((server.accepts(), other.accepts()), (1, 0));
}

#[tokio::test]
async fn a_notice_names_the_target_and_no_query() {
    let host = Host::new(&Names::default());
    let call = host.call("");
    let url = "https://evil.test:8443/path?token=abc";
    assert!(matches!(
        call.send(request(Method::POST, url, b"x"), None).await,
        Err(WasiError::HttpRequestDenied)
    ));
    let notices = host.notices.lock().unwrap();
    assert_eq!(notices[0].target, "POST https://evil.test:8443/path");
    assert_eq!((notices[0].plugin.as_str(), notices[0].reason.name()), ("p", "grant-host"));
}
