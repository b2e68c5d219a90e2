//! Rules of all schemes with a token service.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use machinist_core::driver::SecretValues;
use machinist_plugin_host::testing::Refusal;
use tokio::time::Instant;
use wasmtime_wasi_http::{Error as WasiError, RequestOptions};

use super::auth::values;
use crate::server::{Seen, Server, ok, read_request, write_pieces};
use crate::{Answer, Call, Host, Method, Names, request};

pub(crate) const CLIENT_SECRET: &str = "client~secret/0123456789+";
pub(crate) const RSA_KEY: &str = include_str!("../keys/rsa.pem");

/// One of the schemes, as its driver, its operator and its token service have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    ClientCredentials,
    JwtBearer,
    Keystone,
}

pub(crate) const ALL: [Scheme; 3] = [Scheme::ClientCredentials, Scheme::JwtBearer, Scheme::Keystone];

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClientCredentials => "oauth2-client-credentials",
            Self::JwtBearer => "jwt-bearer",
            Self::Keystone => "keystone",
        }
    }

    fn grant(self, service: u16) -> String {
        let field = if self == Self::Keystone { "url" } else { "token-url" };
        format!("scheme: {}, hosts: [127.0.0.1], {field}: 'http://127.0.0.1:{service}/v3'", self.name())
    }

    /// The key that is missing last.
    fn key(self) -> &'static str {
        match self {
            Self::ClientCredentials => "clientSecret",
            Self::JwtBearer => "serviceAccountJSON",
            Self::Keystone => "password",
        }
    }

    pub(crate) fn secret(self) -> SecretValues {
        match self {
            Self::ClientCredentials => {
                values(&[("clientID", "the-client\n"), ("clientSecret", CLIENT_SECRET)])
            }
            Self::JwtBearer => values(&[("serviceAccountJSON", &service_account(RSA_KEY))]),
            Self::Keystone => values(&[
                ("username", "somebody"),
                ("password", CLIENT_SECRET),
                ("domainName", "Default"),
                ("tenantName", "the-project"),
            ]),
        }
    }

    /// An answer with a token that ends after an hour, at one o'clock.
    pub(crate) fn token(self, token: &str) -> Response<Bytes> {
        match self {
            Self::ClientCredentials | Self::JwtBearer => {
                ok(format!("{{\"access_token\":\"{token}\",\"token_type\":\"Bearer\",\"expires_in\":3600}}"))
            }
            Self::Keystone => {
                let body =
                    "{\"token\":{\"methods\":[\"password\"],\"expires_at\":\"2026-03-01T13:00:00.000000Z\"}}";
                let mut response = ok(body);
                *response.status_mut() = StatusCode::CREATED;
                response.headers_mut().insert("x-subject-token", token.parse().unwrap());
                response
            }
        }
    }

    pub(crate) fn token_of(self, seen: &Seen) -> String {
        let (name, prefix) =
            if self == Self::Keystone { ("x-auth-token", "") } else { ("authorization", "Bearer ") };
        let value = seen.headers[name].to_str().unwrap();
        value.strip_prefix(prefix).unwrap().to_owned()
    }
}

pub(crate) fn service_account(key: &str) -> String {
    serde_json::json!({
        "type": "service_account",
        "client_email": "machinist@project.iam.example.com",
        "private_key_id": "key-1",
        "private_key": key,
        "token_uri": "http://127.0.0.1:1/not-asked",
    })
    .to_string()
}

/// A clock and a host.
pub(crate) struct TokenFixture {
    pub(crate) now: Arc<Mutex<Timestamp>>,
    pub(crate) host: Host,
}

impl TokenFixture {
    pub(crate) fn new() -> Self {
        let now = Arc::new(Mutex::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let clock = now.clone();
        let host = Host::with(&Names::default(), |settings| {
            settings.clock = Arc::new(move || *clock.lock().unwrap());
        });
        Self { now, host }
    }

    fn pass(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }

    pub(crate) fn grants(cloud: &Server, service: &Server, auth: &str) -> String {
        format!(
            "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{}, {}], addresses: loopback }}]\nauth: [{{ {auth} }}]\n",
            cloud.port, service.port
        )
    }

    fn call(&self, scheme: Scheme, cloud: &Server, service: &Server) -> Call {
        let grants = Self::grants(cloud, service, &scheme.grant(service.port));
        self.host.call_with(&grants, scheme.secret(), Duration::from_secs(20))
    }

    pub(crate) async fn send(
        &self,
        scheme: Scheme,
        cloud: &Server,
        service: &Server,
    ) -> Result<Answer, WasiError> {
        self.call(scheme, cloud, service).send(marked(cloud, scheme.name()), None).await
    }
}

pub(crate) fn marked(cloud: &Server, mark: &str) -> Request<Full<Bytes>> {
    let mut sent = request(Method::GET, &cloud.url("/vms"), b"");
    sent.headers_mut().insert("machinist-auth", mark.parse().unwrap());
    sent
}

/// Gives each time another token.
pub(crate) async fn good_service(scheme: Scheme) -> Server {
    let count = AtomicUsize::new(0);
    Server::http(move |_| scheme.token(&format!("token-0123456789-{}", count.fetch_add(1, Ordering::SeqCst))))
        .await
}

#[tokio::test]
async fn a_token_is_got_and_the_request_carries_it() {
    for scheme in ALL {
        let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("fine")).await);
        let service = good_service(scheme).await;
        assert_eq!(world.send(scheme, &cloud, &service).await.unwrap().text(), "fine", "{scheme:?}");
        let seen = cloud.seen().remove(0);
        assert_eq!(scheme.token_of(&seen), "token-0123456789-0");
        assert!(!seen.headers.contains_key("machinist-auth"));
        assert_eq!((service.seen().len(), service.seen()[0].method.as_str()), (1, "POST"));
    }
}

#[tokio::test]
async fn a_token_is_kept_and_renewed_before_it_ends() {
    for scheme in ALL {
        let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
        let service = good_service(scheme).await;
        for (pass, asked) in [(0, 1), (0, 1), (3299, 1), (1, 2)] {
            world.pass(Duration::from_secs(pass));
            if asked == 2 && scheme == Scheme::Keystone {
                // Its answers end at one o'clock for ever, which is too soon to be renewed for long.
                world.send(scheme, &cloud, &service).await.unwrap();
                assert!(service.seen().len() >= 2);
                continue;
            }
            world.send(scheme, &cloud, &service).await.unwrap();
            assert_eq!(service.seen().len(), asked, "{scheme:?} after {pass} s");
        }
    }
}

#[tokio::test]
async fn other_credentials_and_other_plugins_get_other_tokens() {
    for scheme in ALL {
        let (mut world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
        let service = good_service(scheme).await;
        world.send(scheme, &cloud, &service).await.unwrap();
        let mut other = scheme.secret();
        let changed = if scheme == Scheme::JwtBearer {
            service_account(RSA_KEY).replace("machinist@", "other@")
        } else {
            "another-secret".to_owned()
        };
        other.values.insert(scheme.key().to_owned(), changed.into_bytes());
        let grants = TokenFixture::grants(&cloud, &service, &scheme.grant(service.port));
        let call = world.host.call_with(&grants, other, Duration::from_secs(20));
        call.send(marked(&cloud, scheme.name()), None).await.unwrap();
        assert_eq!(service.seen().len(), 2, "{scheme:?}");
        world.host.plugin = "q".into();
        world.send(scheme, &cloud, &service).await.unwrap();
        assert_eq!(service.seen().len(), 3, "{scheme:?}");
    }
}

#[tokio::test]
async fn a_hundred_calls_at_once_ask_once() {
    for scheme in ALL {
        let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
        let service = good_service(scheme).await;
        let all = futures::future::join_all((0..100).map(|_| world.send(scheme, &cloud, &service))).await;
        assert!(all.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status == 200)));
        assert_eq!((service.seen().len(), cloud.seen().len()), (1, 100), "{scheme:?}");
    }
}

#[tokio::test]
async fn a_token_that_the_cloud_refuses_is_forgotten() {
    for scheme in ALL {
        let cloud = Server::http(move |seen| {
            let mut response = ok("");
            if scheme.token_of(seen).ends_with("-0") {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
            }
            response
        })
        .await;
        let (world, service) = (TokenFixture::new(), good_service(scheme).await);
        for (status, asked) in [(401, 1), (200, 2), (200, 2)] {
            assert_eq!(world.send(scheme, &cloud, &service).await.unwrap().status, status, "{scheme:?}");
            assert_eq!(service.seen().len(), asked, "{scheme:?}");
        }
    }
}

#[tokio::test]
async fn an_error_of_the_service_is_the_answer_and_nothing_is_kept() {
    for scheme in ALL {
        for status in [400, 401, 403, 500] {
            let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
            let service = Server::http(move |seen| {
                let mut response = Response::new(seen.body.clone());
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                let echo = seen.headers.get("authorization").cloned();
                response.headers_mut().insert("content-type", "application/json".parse().unwrap());
                if let Some(echo) = echo {
                    response.headers_mut().insert("x-echo", echo);
                }
                response
            })
            .await;
            for asked in 1..=2 {
                let answer = world.send(scheme, &cloud, &service).await.unwrap();
                assert_eq!(
                    (answer.status.as_u16(), &answer.headers["machinist-auth"]),
                    (status, &"failed".parse().unwrap())
                );
                let text = format!("{} {:?}", answer.text(), answer.headers);
                for hidden in [CLIENT_SECRET, "secret%2F0123456789", "x-echo", "eyJhbGciOiJSUzI1NiI"] {
                    assert!(!text.contains(hidden), "{scheme:?}: {hidden} in {text}");
                }
                assert_eq!((service.seen().len(), cloud.accepts()), (asked, 0), "{scheme:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_without_a_usable_token_says_what_to_check() {
    for scheme in ALL {
        let field = if scheme == Scheme::Keystone { "check url" } else { "check token-url" };
        for body in ["", "<html>", "{}", "{\"access_token\":\"\"}", "{\"token\":{\"expires_at\":\"soon\"}}"] {
            let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
            let service = Server::http(move |_| ok(body)).await;
            let answer = world.send(scheme, &cloud, &service).await.unwrap();
            let text = answer.text();
            assert_eq!((answer.status.as_u16(), cloud.accepts()), (502, 0), "{scheme:?} {body}");
            assert!(text.contains(field) && text.contains("127.0.0.1"), "{text}");
            assert_eq!(answer.headers["machinist-auth"], "failed");
        }
    }
}

#[tokio::test]
async fn a_service_that_is_away_breaks_off_or_floods_is_an_error_of_the_network() {
    for scheme in ALL {
        let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
        let cut = Server::raw(|mut stream, _| async move {
            if read_request(&mut stream).await.is_some() {
                write_pieces(&mut stream, &[b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{\"acc"]).await;
            }
        })
        .await;
        let error = world.send(scheme, &cloud, &cut).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpResponseIncomplete), "{scheme:?} {error:?}");
        let flood = Server::http(|_| ok(vec![b' '; 70_000])).await;
        let error = world.send(scheme, &cloud, &flood).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpResponseBodySize(_)), "{scheme:?} {error:?}");
        // Nobody listens on the port of a socket that was bound and closed.
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let grants = TokenFixture::grants(&cloud, &cut, &scheme.grant(closed))
            .replace(&format!(", {}]", cut.port), &format!(", {closed}]"));
        let call = world.host.call_with(&grants, scheme.secret(), Duration::from_secs(20));
        let error = call.send(marked(&cloud, scheme.name()), None).await.unwrap_err();
        assert!(matches!(error, WasiError::ConnectionRefused), "{scheme:?} {error:?}");
        assert_eq!(cloud.accepts(), 0);
    }
}

#[tokio::test]
async fn a_service_that_hangs_ends_with_the_call() {
    for scheme in ALL {
        let (world, cloud) = (TokenFixture::new(), Server::http(|_| ok("")).await);
        let service = Server::raw(|mut stream, _| async move {
            read_request(&mut stream).await;
            std::future::pending::<()>().await;
        })
        .await;
        let grants = TokenFixture::grants(&cloud, &service, &scheme.grant(service.port));
        let call = world.host.call_with(&grants, scheme.secret(), Duration::from_millis(80));
        let error = call.send(marked(&cloud, scheme.name()), None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpResponseTimeout), "{scheme:?} {error:?}");
        // Or with the time that the driver gives its request: it has some left to say what happened.
        let call = world.host.call_with(&grants, scheme.secret(), Duration::from_secs(60));
        let options = RequestOptions {
            first_byte_timeout: Some(Duration::from_millis(80)),
            ..RequestOptions::default()
        };
        let began = Instant::now();
        let error = call.send(marked(&cloud, scheme.name()), Some(options)).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpResponseTimeout), "{scheme:?} {error:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{scheme:?}");
    }
}

#[tokio::test]
async fn the_hosts_own_request_needs_an_egress_rule_and_is_never_redirected() {
    for scheme in ALL {
        let (world, cloud, service) =
            (TokenFixture::new(), Server::http(|_| ok("")).await, good_service(scheme).await);
        let grants = TokenFixture::grants(&cloud, &service, &scheme.grant(service.port))
            .replace(&format!(", {}]", service.port), "]");
        let call = world.host.call_with(&grants, scheme.secret(), Duration::from_secs(20));
        let error = call.send(marked(&cloud, scheme.name()), None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
        assert_eq!((world.host.reasons(), service.accepts()), (vec!["auth-token-url"], 0));
        let elsewhere = service.url("/");
        let moved = Server::http(move |_| {
            let mut response = ok("");
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response.headers_mut().insert("location", elsewhere.parse().unwrap());
            response
        })
        .await;
        let answer = world.send(scheme, &cloud, &moved).await.unwrap();
        assert_eq!((answer.status.as_u16(), service.accepts(), cloud.accepts()), (307, 0, 0));
    }
}

#[tokio::test]
async fn another_host_or_missing_keys_get_no_token() {
    for scheme in ALL {
        let (cloud, service) = (Server::http(|_| ok("")).await, good_service(scheme).await);
        let grants = TokenFixture::grants(&cloud, &service, &scheme.grant(service.port));
        let refused = async |grants: &str, secret: SecretValues, reason: &str| {
            let world = TokenFixture::new();
            let call = world.host.call_with(grants, secret, Duration::from_secs(20));
            let error = call.send(marked(&cloud, scheme.name()), None).await.unwrap_err();
            assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
            assert_eq!(world.host.reasons(), [reason], "{scheme:?}");
        };
        refused(&grants.replace("hosts: [127.0.0.1]", "hosts: [b.test]"), scheme.secret(), "auth-host").await;
        refused(&grants, SecretValues::default(), "auth-keys").await;
        for value in [None, Some(" \n"), Some("\u{0}")] {
            let mut secret = scheme.secret();
            secret.values.remove(scheme.key());
            if let Some(value) = value.filter(|_| scheme != Scheme::JwtBearer || value == Some(" \n")) {
                secret.values.insert(scheme.key().to_owned(), value.as_bytes().to_vec());
            }
            // A password may be any text; an invalid key is reported in an answer.
            if value != Some("\u{0}") {
                refused(&grants, secret, "auth-keys").await;
            }
        }
        assert_eq!((cloud.accepts(), service.accepts()), (0, 0));
    }
}

#[tokio::test]
async fn neither_keys_nor_token_come_back() {
    for scheme in ALL {
        let cloud = Server::http(move |seen| {
            let token = scheme.token_of(seen);
            let mut response = ok(format!("{{\"tag\":\"{token}\",\"user-data\":\"{CLIENT_SECRET}\"}}"));
            response.headers_mut().insert("x-echo", token.parse().unwrap());
            response
        })
        .await;
        let (world, service) = (TokenFixture::new(), good_service(scheme).await);
        let call = world.call(scheme, &cloud, &service);
        for _ in 0..2 {
            let answer = call.send(marked(&cloud, scheme.name()), None).await.unwrap();
            let text = format!("{}{:?}", answer.text(), answer.headers);
            assert!(!text.contains("token-0123456789"), "{scheme:?} {text}");
            assert!(scheme == Scheme::JwtBearer || !text.contains(CLIENT_SECRET), "{scheme:?} {text}");
        }
        assert_eq!(call.vault.scrub_text("log of token-0123456789-0 here"), "log of *** here");
        let id = call.vault.open(scheme.key()).unwrap();
        assert_eq!(call.vault.placeholder(id, &[]), Err(Refusal::NotGranted));
        assert_eq!(call.vault.reveal(id), Err(Refusal::NotGranted));
    }
}
