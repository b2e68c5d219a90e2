//! Clients that may connect, and the process that answers.

use std::path::{Path, PathBuf};

use machinist_autoscaler::messages::RefreshRequest;
use machinist_autoscaler::messages::cloud_provider_client::CloudProviderClient;
use machinist_autoscaler::metrics::CallMetrics;
use machinist_autoscaler::tls::TlsFiles;
use machinist_autoscaler::{Endpoint, serve};
use machinist_runtime::autoscaler::NodeGroups;
use memory_api::wire::Call;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

use crate::fixture::{Stage, both, decrease, delete, groups, increase, refuses};
use crate::objects::{CAPI, MCM, add_md, add_pool, capi_id_of, limits};

/// An issuer of certificates.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, both in PEM format.
struct Issued {
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    fn issue(&self, purpose: ExtendedKeyUsagePurpose) -> Issued {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Issued { certificate, key: key.serialize_pem() }
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The files of a server whose certificate is of the first authority, and whose clients are of the second.
fn files(folder: &Path, server: &Authority, clients: &Authority) -> TlsFiles {
    let issued = server.issue(ExtendedKeyUsagePurpose::ServerAuth);
    TlsFiles {
        certificate: write(folder, "tls.crt", &issued.certificate),
        key: write(folder, "tls.key", &issued.key),
        client_ca: write(folder, "ca.crt", &clients.certificate),
    }
}

/// Connects and makes one call. TLS 1.3 refuses a certificate only after the handshake of the client.
async fn refresh(stage: &Stage, server: &Authority, client: Option<&Issued>) -> Result<(), String> {
    let tls = ClientTlsConfig::new()
        .domain_name("localhost")
        .ca_certificate(Certificate::from_pem(&server.certificate));
    let tls = match client {
        Some(Issued { certificate, key }) => tls.identity(Identity::from_pem(certificate, key)),
        None => tls,
    };
    let endpoint = Channel::from_shared(format!("https://{}", stage.address)).unwrap();
    let channel = endpoint.tls_config(tls).unwrap().connect().await.map_err(|error| format!("{error:?}"))?;
    let mut client = CloudProviderClient::new(channel);
    client.refresh(RefreshRequest {}).await.map(|_| ()).map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn attack_a_stranger_at_the_address_of_cluster_autoscaler_gets_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (server, clients, others) = (Authority::new(), Authority::new(), Authority::new());
    let files = files(folder.path(), &server, &clients);
    let stage = Stage::with(both(), Some(files), true, |_| {}).await;
    let of_client = clients.issue(ExtendedKeyUsagePurpose::ClientAuth);
    let is_served = async || refresh(&stage, &server, Some(&of_client)).await.is_ok();
    stage.until("a client of the issuer is served", is_served).await;
    for (stranger, what) in [
        (None, "without a certificate"),
        (Some(others.issue(ExtendedKeyUsagePurpose::ClientAuth)), "of another issuer"),
        (Some(clients.issue(ExtendedKeyUsagePurpose::ServerAuth)), "for servers only"),
        (Some(server.issue(ExtendedKeyUsagePurpose::ClientAuth)), "of the server's issuer"),
    ] {
        assert!(refresh(&stage, &server, stranger.as_ref()).await.is_err(), "{what}");
    }
    let plain = Channel::from_shared(format!("http://{}", stage.address)).unwrap().connect().await;
    if let Ok(channel) = plain {
        let answer = CloudProviderClient::new(channel).refresh(RefreshRequest {}).await;
        assert!(answer.is_err(), "without TLS");
    }
    assert!(is_served().await);
}

#[tokio::test]
async fn renewed_certificates_count_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (server, clients, next) = (Authority::new(), Authority::new(), Authority::new());
    let stage = Stage::with(both(), Some(files(folder.path(), &server, &clients)), true, |_| {}).await;
    let of_client = clients.issue(ExtendedKeyUsagePurpose::ClientAuth);
    let of_next = next.issue(ExtendedKeyUsagePurpose::ClientAuth);
    stage.until("it is served", async || refresh(&stage, &server, Some(&of_client)).await.is_ok()).await;
    files(folder.path(), &next, &next);
    assert!(refresh(&stage, &next, Some(&of_next)).await.is_ok());
    assert!(refresh(&stage, &next, Some(&of_client)).await.is_err());
}

#[tokio::test]
async fn files_that_are_no_certificates_are_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let good = files(folder.path(), &authority, &authority);
    let bad = write(folder.path(), "bad", "no certificate");
    let other = authority.issue(ExtendedKeyUsagePurpose::ServerAuth);
    let other = write(folder.path(), "other.key", &other.key);
    for (files, part) in [
        (TlsFiles { certificate: bad.clone(), ..good.clone() }, "certificate"),
        (TlsFiles { key: bad.clone(), ..good.clone() }, "private key"),
        (TlsFiles { client_ca: bad, ..good.clone() }, "certificate"),
        (TlsFiles { key: other, ..good.clone() }, "tls.crt"),
        (TlsFiles { key: folder.path().join("missing"), ..good }, "missing"),
    ] {
        let endpoint = Endpoint { address: "127.0.0.1:0".parse().unwrap(), scope: both() };
        let (groups, metrics, stop) =
            (NodeGroups::new(false), CallMetrics::default(), CancellationToken::new());
        let error = serve(vec![endpoint], Some(files), &groups, &metrics, &stop).await.unwrap_err();
        let text = machinist_core::value::error_chain::chain(&error);
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

#[tokio::test]
async fn a_process_that_does_not_lead_says_so_ends_the_connection_and_writes_nothing() {
    let stage = Stage::with(both(), None, false, |api| {
        add_pool(api, 2, &limits(5));
        add_md(api, &["a", "b"], &limits(5));
    })
    .await;
    let mut client = stage.client().await;
    refuses(increase(&mut client, MCM, 1).await, Code::Unavailable, "does not lead");
    let mut client = stage.client().await;
    refuses(decrease(&mut client, MCM, -1).await, Code::Unavailable, "does not lead");
    let mut client = stage.client().await;
    refuses(delete(&mut client, CAPI, &[&capi_id_of("a")]).await, Code::Unavailable, "does not lead");
    let written = |call: &Call| call.verb == "PATCH" && call.what.starts_with("machine");
    assert!(stage.wire.records(written).is_empty());
    assert!(stage.counted("NodeGroupIncreaseSize", "UNAVAILABLE"));

    let mut raw = TcpStream::connect(stage.address).await.unwrap();
    let is_sent_away = is_sent_away_after_a_call(&mut raw).await;
    assert!(is_sent_away, "a client has to connect again, and can reach another process");

    stage.leads.send_replace(true);
    let leads = async || stage.client().await.refresh(RefreshRequest {}).await.is_ok();
    stage.until("it leads", leads).await;
    let mut client = stage.client().await;
    assert_eq!(groups(&mut client).await.len(), 2);
}

/// Sends `Refresh` over HTTP/2 by hand, and reads until the server says GOAWAY.
async fn is_sent_away_after_a_call(stream: &mut TcpStream) -> bool {
    use tokio::io::AsyncWriteExt as _;
    let literal = |name: &str, value: &str| {
        let mut field = vec![0x00];
        for text in [name, value] {
            field.push(u8::try_from(text.len()).unwrap());
            field.extend_from_slice(text.as_bytes());
        }
        field
    };
    let path = "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/Refresh";
    let headers: Vec<u8> = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    .iter()
    .flat_map(|(name, value)| literal(name, value))
    .collect();
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend_from_slice(&[kind, flags, 0, 0, 0, stream]);
        frame.extend_from_slice(payload);
        frame
    };
    let mut all = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    all.extend(frame(4, 0, 0, &[]));
    all.extend(frame(1, 4, 1, &headers));
    all.extend(frame(0, 1, 1, &[0; 5]));
    // The acknowledgement of the server's settings.
    all.extend(frame(4, 1, 0, &[]));
    stream.write_all(&all).await.unwrap();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let [_, high, low, kind, ..] = head;
        if kind == GOAWAY {
            return true;
        }
        let mut payload = vec![0; usize::from(u16::from_be_bytes([high, low]))];
        stream.read_exact(&mut payload).await.unwrap();
    }
    false
}

/// The type of the frame.
const GOAWAY: u8 = 7;

#[tokio::test]
async fn an_address_that_is_taken_is_an_error_at_once() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint { address: taken.local_addr().unwrap(), scope: both() };
    let (groups, metrics, stop) = (NodeGroups::new(false), CallMetrics::default(), CancellationToken::new());
    let error = serve(vec![endpoint], None, &groups, &metrics, &stop).await.unwrap_err();
    assert!(error.to_string().contains("--autoscaler-address"), "{error}");
}
