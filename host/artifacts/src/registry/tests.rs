//! How a login by a token is shown to a registry and to its token service.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{Error, Limits, Registry};
use crate::credentials::Logins;

const TOKEN: &str = "identity-token+1";

/// Where it listens, and what it was asked.
#[derive(Clone)]
struct Door {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

async fn answer(State(door): State<Door>, headers: HeaderMap, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 10_000).await.unwrap();
    let proof = headers.get(header::AUTHORIZATION).map_or("nothing", |proof| proof.to_str().unwrap());
    let said = String::from_utf8(body.to_vec()).unwrap();
    door.seen.lock().unwrap().push(format!("{} {} {proof} {said}", parts.method, parts.uri.path()));
    if parts.uri.path() == "/token" {
        return r#"{"access_token":"exchanged"}"#.into_response();
    }
    if proof == "Bearer exchanged" {
        return StatusCode::NOT_FOUND.into_response();
    }
    let asked = format!("Bearer realm=\"http://{}/token\",service=\"s\"", door.address);
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, asked)]).into_response()
}

#[tokio::test]
async fn an_identity_token_goes_to_the_token_service_alone_and_is_exchanged() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let door = Door { address: listener.local_addr().unwrap(), seen: Arc::default() };
    let router = Router::new().fallback(answer).with_state(door.clone());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let config = format!(r#"{{"auths":{{"{}":{{"identitytoken":"{TOKEN}"}}}}}}"#, door.address);
    let logins = Logins::parse(config.as_bytes()).unwrap();
    let reference = format!("{}/acme/sim:1", door.address).parse().unwrap();
    let registry = Registry::new(Limits::default(), |_| Ok(())).unwrap();
    let outcome = registry.resolve(&reference, logins.find(&reference)).await;
    server.abort();
    assert!(matches!(outcome, Err(Error::Absent { .. })), "it was let in: {outcome:?}");
    let form = "grant_type=refresh_token&client_id=machinist&scope=repository%3Aacme%2Fsim%3Apull\
                &refresh_token=identity-token%2B1&service=s";
    let expected = [
        "GET /v2/acme/sim/manifests/1 nothing ".to_owned(),
        format!("POST /token nothing {form}"),
        "GET /v2/acme/sim/manifests/1 Bearer exchanged ".to_owned(),
    ];
    assert_eq!(*door.seen.lock().unwrap(), expected);
}
