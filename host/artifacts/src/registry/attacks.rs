//! Attacks on a client by hostile registries, and by servers that are no registries. Each listens on loopback, where
//! another port counts as another host.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{Error, Limits, RedirectError, Registry};
use crate::credentials::{Credentials, Logins};
use crate::reference::Reference;

const PASSWORD: &str = "canary-registry-password";

/// A server with prepared answers. It keeps the requests.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

type Script = Arc<dyn Fn(&str, &HeaderMap) -> Response + Send + Sync>;
type Shared = (Script, Arc<Mutex<Vec<String>>>);

async fn answer(State((script, seen)): State<Shared>, request: Request) -> Response {
    let proof =
        request.headers().get(header::AUTHORIZATION).map_or("nothing", |proof| proof.to_str().unwrap());
    let path = request.uri().path().to_owned();
    seen.lock().unwrap().push(format!("{} {path} {proof}", request.method()));
    script(&path, request.headers())
}

impl Server {
    async fn start(script: impl Fn(&str, &HeaderMap) -> Response + Send + Sync + 'static) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::default());
        let shared: Shared = (Arc::new(script), Arc::clone(&seen));
        let router = Router::new().fallback(answer).with_state(shared);
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Self { address, seen, task }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn reference(&self) -> Reference {
        format!("{}/acme/sim:1", self.address).parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn redirect_to(place: String) -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, place)]).into_response()
}

fn asks(challenge: String) -> Response {
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
}

fn login(server: &Server) -> Credentials {
    let config =
        format!(r#"{{"auths":{{"{}":{{"username":"robot","password":"{PASSWORD}"}}}}}}"#, server.address);
    Logins::parse(config.as_bytes()).unwrap().find(&server.reference()).unwrap().clone()
}

fn anywhere(_: IpAddr) -> Result<(), &'static str> {
    Ok(())
}

async fn resolve(server: &Server) -> Error {
    let registry = Registry::new(Limits::default(), anywhere).unwrap();
    let login = login(server);
    registry.resolve(&server.reference(), Some(&login)).await.unwrap_err()
}

#[tokio::test]
async fn attack_storage_behind_a_redirect_asks_for_the_login() {
    let third = Server::start(|_, _| StatusCode::OK.into_response()).await;
    let realm = format!("Bearer realm=\"http://{}/token\"", third.address);
    let storage = Server::start(move |_, _| asks(realm.clone())).await;
    let place = format!("http://{}/blob", storage.address);
    // It has opened to the login before it redirects, so that the client knows how to show it.
    let registry = Server::start(move |_, headers| match headers.get(header::AUTHORIZATION) {
        None => asks("Basic".to_owned()),
        Some(_) => redirect_to(place.clone()),
    });
    let registry = registry.await;
    let error = resolve(&registry).await;
    assert!(matches!(error, Error::Redirect { source: RedirectError::Login, .. }), "{error:?}");
    assert_eq!(storage.seen(), ["GET /blob nothing"]);
    assert_eq!(third.seen(), Vec::<String>::new());
    assert_eq!(registry.seen().len(), 2);
}

#[tokio::test]
async fn attack_a_redirect_that_comes_back_shows_no_login() {
    let planted = Arc::new(OnceLock::<String>::new());
    let place = Arc::clone(&planted);
    let stranger = Server::start(move |_, _| redirect_to(place.get().unwrap().clone())).await;
    let place = format!("http://{}/x", stranger.address);
    let registry = Server::start(move |path, headers| match headers.get(header::AUTHORIZATION) {
        _ if path == "/delete-all" => StatusCode::NOT_FOUND.into_response(),
        None => asks("Basic".to_owned()),
        Some(_) => redirect_to(place.clone()),
    });
    let registry = registry.await;
    planted.set(format!("http://{}/delete-all", registry.address)).unwrap();
    resolve(&registry).await;
    assert_eq!(stranger.seen(), ["GET /x nothing"]);
    assert_eq!(registry.seen().last().unwrap(), "GET /delete-all nothing");
}

#[tokio::test]
async fn attack_a_foreign_realm_gets_neither_the_login_nor_a_question() {
    let thief = Server::start(|_, _| r#"{"token":"of somebody else"}"#.into_response()).await;
    let realm = format!("Bearer realm=\"http://{}/token\",service=\"s\"", thief.address);
    let registry = Server::start(move |_, _| asks(realm.clone())).await;
    let error = resolve(&registry).await;
    assert_eq!(thief.seen(), Vec::<String>::new());
    let said = error.to_string();
    let expected = format!("tokens would come from 127.0.0.1:{}", thief.address.port());
    assert!(said.contains(&expected) && said.contains("the login stays here"), "{said}");
    assert!(error.is_passing());
    // Without a login the token of the other would travel to the registry.
    let client = Registry::new(Limits::default(), anywhere).unwrap();
    let error = client.resolve(&registry.reference(), None).await.unwrap_err();
    assert!(matches!(error, Error::Challenge { .. }), "{error:?}");
    assert_eq!(thief.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn attack_redirects_without_end_cost_five_requests() {
    let registry = Server::start(|_, _| redirect_to("/v2/again".to_owned())).await;
    let error = resolve(&registry).await;
    assert!(matches!(error, Error::Redirect { source: RedirectError::TooMany, .. }), "{error:?}");
    assert_eq!(registry.seen().len(), 5);
}

#[tokio::test]
async fn attack_a_redirect_leads_to_a_metadata_service() {
    fn judge(address: IpAddr) -> Result<(), &'static str> {
        if address.is_loopback() { Ok(()) } else { Err("it is no address for registries") }
    }
    for (place, expected) in [
        ("http://169.254.169.254/latest/meta-data/", RedirectError::Plain),
        ("https://169.254.169.254/latest/", RedirectError::Prohibited("it is no address for registries")),
        ("https://0xa9fea9fe/latest/", RedirectError::Prohibited("it is no address for registries")),
        ("https://[::ffff:169.254.169.254]/", RedirectError::Prohibited("it is no address for registries")),
        ("ftp://127.0.0.1/", RedirectError::Plain),
    ] {
        let registry = Server::start(move |_, _| redirect_to(place.to_owned())).await;
        let client = Registry::new(Limits::default(), judge).unwrap();
        match client.resolve(&registry.reference(), None).await {
            Err(Error::Redirect { source, .. }) => assert_eq!(source, expected, "{place}"),
            other => panic!("{place}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn attack_an_address_that_is_not_asked_gets_no_byte() {
    fn nowhere(_: IpAddr) -> Result<(), &'static str> {
        Err("it is on this machine")
    }
    let server = Server::start(|_, _| StatusCode::OK.into_response()).await;
    let client = Registry::new(Limits::default(), nowhere).unwrap();
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost", "127.0.0.2", "[::1]", "0x7f000001.example", "169.254.169.254"] {
        let reference: Reference = format!("{host}:{port}/acme/sim:1").parse().unwrap();
        let error = client.resolve(&reference, None).await.unwrap_err();
        let is_refused = matches!(error, Error::Prohibited { .. } | Error::Unreachable { .. });
        assert!(is_refused, "{host}: {error:?}");
    }
    let here = client.resolve(&server.reference(), None).await.unwrap_err();
    assert_eq!(here.to_string(), format!("registry {} is not asked: it is on this machine", server.address));
    assert!(!here.is_passing());
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn attack_nothing_of_an_answer_is_in_an_error() {
    const SAID: &str = "db-password-hunter2";
    let with = |status: u16, kind: &'static str, body: String| {
        move |_: &str, _: &HeaderMap| {
            let status = StatusCode::from_u16(status).unwrap();
            let headers = [
                (header::CONTENT_TYPE, kind.replace("SAID", SAID)),
                (header::WWW_AUTHENTICATE, format!("Negotiate {SAID}")),
                (header::LOCATION, format!("gopher://{SAID}/{SAID}")),
            ];
            (status, headers, body.clone()).into_response()
        }
    };
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    let index = "application/vnd.oci.image.index.v1+json";
    let layers = format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"application/vnd.wasm.config.v0+json","digest":"x","size":1}},
            "layers":[{{"mediaType":"{SAID}","digest":"{SAID}","size":1}}]}}"#
    );
    let digest = layers.replace(&format!("\"mediaType\":\"{SAID}\""), "\"mediaType\":\"application/wasm\"");
    for (status, kind, body) in [
        (500, "text/plain", format!("internal: {SAID}")),
        (418, "text/plain", SAID.to_owned()),
        (401, "text/plain", SAID.to_owned()),
        (307, "text/plain", SAID.to_owned()),
        (200, manifest, SAID.to_owned()),
        (200, manifest, format!("\"{SAID}\"")),
        (200, manifest, format!(r#"{{"schemaVersion":"{SAID}"}}"#)),
        (200, manifest, format!(r#"{{"schemaVersion":2,"{SAID}":1,"mediaType":"{SAID}"}}"#)),
        (200, "SAID", r#"{"schemaVersion":2}"#.to_owned()),
        (
            200,
            manifest,
            format!(r#"{{"schemaVersion":2,"config":{{"mediaType":"{SAID}","digest":"x","size":1}}}}"#),
        ),
        (200, manifest, layers),
        (200, manifest, digest),
        (200, index, format!(r#"{{"schemaVersion":2,"manifests":[{{"digest":"{SAID}","size":1}}]}}"#)),
    ] {
        let shown = format!("{status} {kind} {body}");
        let server = Server::start(with(status, kind, body)).await;
        let error = resolve(&server).await;
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        assert!(!text.contains(SAID) && !text.contains("hunter2"), "{shown}: {text}");
        assert_eq!(error.server_text().is_some(), status == 500 || status == 418, "{shown}");
    }
}
