//! The part of a kubelet that forwards ports: what an API server dials for `kubectl port-forward`.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use http::HeaderValue;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

/// Of Kubernetes: the first byte of a message is its channel, two for each port.
const PROTOCOL: &str = "v4.channel.k8s.io";
const DATA: u8 = 0;
const ERROR: u8 = 1;

type Socket = WebSocketStream<TlsStream<TcpStream>>;

/// Forwards ports of this machine's loopback, as a kubelet does those of a pod. Ends when it is dropped.
#[derive(Debug)]
pub struct PortForwards {
    port: u16,
    serving: JoinHandle<()>,
}

impl Drop for PortForwards {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl PortForwards {
    /// Starts it on a free port of loopback.
    pub async fn start() -> Result<Self> {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("failed to listen")?;
        let port = listener.local_addr()?.port();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                // The client sees that the connection ends.
                tokio::spawn(async move { connection(stream, acceptor).await.ok() });
            }
        });
        Ok(Self { port, serving })
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor) -> Result<()> {
    let stream = acceptor.accept(stream).await?;
    let mut wanted = None;
    #[expect(clippy::result_large_err, reason = "the signature is that of the crate")]
    let choose = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        let query = request.uri().query().unwrap_or_default();
        wanted = query.split('&').find_map(|part| part.strip_prefix("port=")?.parse::<u16>().ok());
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        Ok(response)
    };
    let mut socket = tokio_tungstenite::accept_hdr_async(stream, choose).await?;
    let port = wanted.context("no port is named")?;
    for channel in [DATA, ERROR] {
        socket.send(message(channel, &port.to_le_bytes())).await?;
    }
    match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(stream) => forward(socket, stream).await,
        Err(error) => {
            socket
                .send(message(ERROR, format!("failed to connect to port {port}: {error}").as_bytes()))
                .await?;
            Ok(socket.close(None).await?)
        }
    }
}

fn message(channel: u8, bytes: &[u8]) -> Message {
    Message::Binary(Bytes::from([&[channel], bytes].concat()))
}

async fn forward(socket: Socket, stream: TcpStream) -> Result<()> {
    let (to_caller, from_caller) = socket.split();
    let (from_pod, to_pod) = stream.into_split();
    tokio::select! {
        done = up(from_caller, to_pod) => done,
        done = down(from_pod, to_caller) => done,
    }
}

async fn up(mut from: SplitStream<Socket>, mut to: tokio::net::tcp::OwnedWriteHalf) -> Result<()> {
    while let Some(Message::Binary(bytes)) = from.next().await.transpose()? {
        if let Some((&DATA, bytes)) = bytes.split_first() {
            to.write_all(bytes).await?;
        }
    }
    Ok(())
}

async fn down(mut from: tokio::net::tcp::OwnedReadHalf, mut to: SplitSink<Socket, Message>) -> Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(to.close().await?);
        }
        to.send(message(DATA, buffer.get(..count).unwrap_or_default())).await?;
    }
}
