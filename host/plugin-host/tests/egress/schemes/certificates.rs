//! Certificates of a Secret: the one that the host shows, and the ones of servers that it trusts.

use std::sync::Arc;

use http::Request;
use http_body_util::Full;
use machinist_core::driver::SecretValues;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;
use wasmtime_wasi_http::Error as WasiError;

use super::auth::values;
use super::tokens::Scheme;
use crate::server::{Server, ok};
use crate::{Answer, Bytes, Call, Duration, Host, Method, Names, request};

/// A certificate that nobody else vouches for, as LXD makes them, and its key.
struct SelfSigned {
    certificate: String,
    key: String,
}

impl SelfSigned {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
        Self { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }

    /// The side of a server, which wants one of these clients.
    fn acceptor(&self, clients: &[&SelfSigned]) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if clients.is_empty() {
            builder.with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(clients.iter().map(|client| client.der()));
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        };
        let key = PrivatePkcs8KeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let config = builder.with_single_cert(vec![self.der()], key.into()).unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

const GRANTED: &str = "scheme: client-certificate";

fn call(host: &Host, port: u16, auth: &str, secret: SecretValues) -> Call {
    let grants = format!(
        "egress: [{{ host: cloud.test, ports: [{port}], addresses: loopback }}, \
         {{ host: cloud.test, scheme: http, ports: [{port}], addresses: loopback }}]\nauth: [{{ {auth} }}]\n"
    );
    host.call_with(&grants, secret, Duration::from_secs(20))
}

fn marked(url: &str, mark: &str) -> Request<Full<Bytes>> {
    let mut sent = request(Method::GET, url, b"");
    sent.headers_mut().insert("machinist-auth", mark.parse().unwrap());
    sent
}

async fn send(host: &Host, port: u16, secret: SecretValues) -> Result<Answer, WasiError> {
    let url = format!("https://cloud.test:{port}/1.0");
    call(host, port, GRANTED, secret).send(marked(&url, "client-certificate"), None).await
}

fn host() -> Host {
    Host::new(&Names::default().with("cloud.test", &[&["127.0.0.1"]]))
}

fn secret_of(client: &SelfSigned, server: &SelfSigned) -> SecretValues {
    values(&[
        ("clientCert", &client.certificate),
        ("clientKey", &client.key),
        ("serverCert", &server.certificate),
    ])
}

#[tokio::test]
async fn the_host_shows_the_certificate_of_the_secret_to_exactly_the_server_of_the_secret() {
    let (server, client) = (SelfSigned::new("another-name.test"), SelfSigned::new("machinist"));
    let cloud = Server::https(server.acceptor(&[&client]), |_| ok("fine")).await;
    let host = host();
    for _ in 0..3 {
        let answer = send(&host, cloud.port, secret_of(&client, &server)).await.unwrap();
        assert_eq!(answer.text(), "fine");
    }
    assert_eq!(cloud.accepts(), 1, "the connection is kept");
    let seen = cloud.seen().remove(0);
    assert!(!seen.headers.contains_key("machinist-auth"));
    assert!(!seen.headers.contains_key("authorization"));
}

#[tokio::test]
async fn another_server_is_not_talked_to() {
    let (server, client) = (SelfSigned::new("cloud.test"), SelfSigned::new("machinist"));
    let cloud = Server::https(server.acceptor(&[]), |_| ok("")).await;
    let imposter = SelfSigned::new("cloud.test");
    let host = host();
    let error = send(&host, cloud.port, secret_of(&client, &imposter)).await.unwrap_err();
    assert!(matches!(error, WasiError::TlsCertificateError), "{error:?}");
    // Without the server's certificate in the Secret, the usual authorities count.
    let secret = values(&[("clientCert", &client.certificate), ("clientKey", &client.key)]);
    let error = send(&host, cloud.port, secret).await.unwrap_err();
    assert!(matches!(error, WasiError::TlsCertificateError), "{error:?}");
    assert_eq!(cloud.seen().len(), 0);
}

#[tokio::test]
async fn the_requests_of_two_secrets_share_no_connection() {
    let server = SelfSigned::new("cloud.test");
    let (one, other) = (SelfSigned::new("one"), SelfSigned::new("other"));
    let cloud = Server::https(server.acceptor(&[&one, &other]), |_| ok("")).await;
    let host = host();
    for client in [&one, &other, &one, &other] {
        send(&host, cloud.port, secret_of(client, &server)).await.unwrap();
    }
    assert_eq!(cloud.accepts(), 2, "one for each certificate");
}

#[tokio::test]
async fn a_secret_without_a_whole_pair_sends_nothing_and_says_what_is_wrong() {
    let (server, client, other) = (SelfSigned::new("a"), SelfSigned::new("b"), SelfSigned::new("c"));
    let cloud = Server::https(server.acceptor(&[]), |_| ok("")).await;
    let pair = |certificate: &str, key: &str| values(&[("clientCert", certificate), ("clientKey", key)]);
    for (secret, said) in [
        (pair(&client.certificate, ""), "add the key clientKey"),
        (pair("-----BEGIN", &client.key), "clientCert has no certificate"),
        (pair(&client.certificate, "garbage"), "clientKey has no private key"),
        (pair(&client.certificate, &other.key), "not of one pair"),
    ] {
        let answer = send(&host(), cloud.port, secret).await.unwrap();
        assert_eq!(
            (answer.status.as_u16(), answer.headers["machinist-auth"].to_str().unwrap()),
            (401, "failed")
        );
        let text = answer.text();
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("BEGIN PRIVATE KEY-"), "{text}");
    }
    let host = host();
    let error = send(&host, cloud.port, values(&[])).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
    assert_eq!(host.reasons(), ["auth-keys"]);
    assert_eq!(cloud.accepts(), 0);
}

#[tokio::test]
async fn a_request_over_plain_http_is_refused() {
    let client = SelfSigned::new("machinist");
    let cloud = Server::http(|_| ok("")).await;
    let host = host();
    let url = format!("http://cloud.test:{}/1.0", cloud.port);
    let call = call(&host, cloud.port, GRANTED, secret_of(&client, &client));
    let error = call.send(marked(&url, "client-certificate"), None).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
    assert_eq!((host.reasons(), cloud.accepts()), (vec!["auth-plain"], 0));
}

/// The identity service and the cloud of a Secret with TLS of its own.
async fn keystone(
    server: &SelfSigned,
    secret: &[(&str, &str)],
    more: &str,
) -> (Result<Answer, WasiError>, usize) {
    let cloud = Server::https(server.acceptor(&[]), |seen| {
        if seen.method == Method::POST { Scheme::Keystone.token("token-0123456789") } else { ok("fine") }
    })
    .await;
    let host = Host::with(&Names::default().with("cloud.test", &[&["127.0.0.1"]]), |settings| {
        settings.clock = Arc::new(|| "2026-03-01T12:00:00Z".parse().unwrap());
    });
    let mut values = Scheme::Keystone.secret();
    for (key, value) in secret {
        values.values.insert((*key).to_owned(), value.as_bytes().to_vec());
    }
    let url = format!("https://cloud.test:{}/v3", cloud.port);
    let call = call(&host, cloud.port, &format!("scheme: keystone, url: '{url}'{more}"), values);
    let answer = call.send(marked(&format!("{url}/servers"), "keystone"), None).await;
    (answer, cloud.seen().len())
}

#[tokio::test]
async fn an_authority_of_the_secret_counts_for_the_login_and_for_the_cloud_and_no_other_does() {
    let (server, other) = (SelfSigned::new("cloud.test"), SelfSigned::new("cloud.test"));
    let (answer, seen) = keystone(&server, &[("caCert", &server.certificate)], "").await;
    assert_eq!((answer.unwrap().text(), seen), ("fine".to_owned(), 2));
    for secret in [&[("caCert", other.certificate.as_str())][..], &[]] {
        let (answer, seen) = keystone(&server, secret, "").await;
        assert!(matches!(answer, Err(WasiError::TlsCertificateError)), "{answer:?}");
        assert_eq!(seen, 0);
    }
}

#[tokio::test]
async fn a_server_that_nobody_checks_needs_the_grants_and_the_secret() {
    let server = SelfSigned::new("another-name.test");
    let (answer, seen) = keystone(&server, &[("insecure", "true")], ", insecure: true").await;
    assert_eq!((answer.unwrap().text(), seen), ("fine".to_owned(), 2));
    let (answer, seen) = keystone(&server, &[("insecure", "true")], "").await;
    let answer = answer.unwrap();
    assert_eq!((answer.status.as_u16(), seen), (401, 0));
    assert!(answer.text().contains("put their authority into the Secret"), "{}", answer.text());
    let (answer, _) = keystone(&server, &[("insecure", "yes")], ", insecure: true").await;
    assert!(answer.unwrap().text().contains("another value than true and false"));
    for secret in [&[("insecure", "false")][..], &[]] {
        let (answer, seen) = keystone(&server, secret, ", insecure: true").await;
        assert!(matches!(answer, Err(WasiError::TlsCertificateError)), "{answer:?}");
        assert_eq!(seen, 0);
    }
}
