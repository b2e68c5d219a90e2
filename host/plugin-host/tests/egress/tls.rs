//! TLS is always verified; the plugin's own authority counts for this plugin alone.

use std::sync::Arc;

use http::Version;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::TlsAcceptor;

use super::server::{Server, ok};
use super::{Host, Names, WasiError};

/// An authority in PEM, and a server's side for one name under it.
fn authority(name: &str, protocols: &[&[u8]]) -> (String, TlsAcceptor) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let server_key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new([name.to_owned()]).unwrap().signed_by(&server_key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(server_key.serialize_der()).into(),
        )
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (root.pem(), TlsAcceptor::from(Arc::new(config)))
}

fn grants(name: &str, port: u16, ca: &str) -> String {
    let rule = format!("egress: [{{ host: '{name}', ports: [{port}], addresses: loopback }}]\n");
    if ca.is_empty() { rule } else { format!("{rule}ca: |\n  {}\n", ca.trim().replace('\n', "\n  ")) }
}

fn names() -> Names {
    Names::default().with("api.test", &[&["127.0.0.1"]]).with("other.test", &[&["127.0.0.1"]])
}

#[tokio::test]
async fn http_2_is_spoken_where_the_server_offers_it() {
    for (protocols, version) in [
        (&[b"h2".as_slice(), b"http/1.1"][..], Version::HTTP_2),
        (&[b"http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let (ca, tls) = authority("api.test", protocols);
        let server = Server::https(tls, |seen| ok(seen.body.clone())).await;
        let host = Host::new(&names());
        for _ in 0..3 {
            let call = host.call(&grants("api.test", server.port, &ca));
            let answer = call.get(&format!("https://api.test:{}/", server.port)).await.unwrap();
            assert_eq!(answer.status, 200);
        }
        assert_eq!(server.seen().iter().map(|seen| seen.version).collect::<Vec<_>>(), [version; 3]);
        assert_eq!(server.accepts(), 1);
    }
}

#[tokio::test]
async fn a_certificate_must_be_of_a_known_authority_and_for_the_name() {
    let (ca, tls) = authority("api.test", &[]);
    let (other_ca, _) = authority("api.test", &[]);
    let server = Server::https(tls, |_| ok("")).await;
    let host = Host::new(&names());
    for (name, ca) in [("api.test", ""), ("api.test", other_ca.as_str()), ("other.test", ca.as_str())] {
        let call = host.call(&grants(name, server.port, ca));
        let error = call.get(&format!("https://{name}:{}/", server.port)).await.unwrap_err();
        assert!(matches!(error, WasiError::TlsCertificateError), "{name}: {error:?}");
    }
    let call = host.call(&grants("api.test", server.port, &ca));
    assert_eq!(call.get(&format!("https://api.test:{}/", server.port)).await.unwrap().status, 200);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_server_without_tls_gets_nothing() {
    let server = Server::http(|_| ok("")).await;
    let host = Host::new(&names());
    let error = host
        .call(&grants("api.test", server.port, ""))
        .get(&format!("https://api.test:{}/", server.port))
        .await;
    assert!(matches!(error, Err(WasiError::TlsProtocolError)), "{error:?}");
    assert_eq!(server.seen().len(), 0);
}
