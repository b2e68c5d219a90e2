//! The egress against real servers on loopback: every byte that is claimed to move or not to move does or does not.
//!
//! | module | content |
//! | --- | --- |
//! | `addresses` | the addresses that may be dialled |
//! | `connections` | connections: reused, not delayed, replaced when stale; and the bytes on them |
//! | `detour` | the server that a detour leads to, and the hosts that it does not open |
//! | `tls` | verification of TLS; the plugin's own authority counts for this plugin alone |
//! | `times` | limits of time, bytes and number, each of them named by its error |
//! | `throttle` | one pace for each cloud account, over calls and plugins |
//! | `schemes` | how the host authenticates requests that drivers mark |
//! | `secrets` | secrets on their way out, and their echoes on the way back |
//! | `server` | servers on loopback, which end when they are dropped |

mod addresses;
mod connections;
mod detour;
mod schemes;
mod secrets;
mod server;
mod throttle;
mod times;
mod tls;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use machinist_core::driver::SecretValues;
use machinist_core::value::id::PluginName;
use machinist_plugin_host::testing::EgressSettings;
use machinist_plugin_host::testing::{Egress, Session, Vault};
use machinist_plugin_host::{Grants, RefusalNotice, Resolve};
use tokio::time::Instant;
use wasmtime_wasi_http::{Error as WasiError, RequestOptions};

/// Answers in turn; the last answer stays. Counts lookups.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>>, Arc<Mutex<Vec<String>>>);

impl Names {
    fn with(self, name: &str, answers: &[&[&str]]) -> Self {
        let answers =
            answers.iter().map(|answer| answer.iter().map(|text| text.parse().unwrap()).collect()).collect();
        self.0.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    fn lookups(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            self.1.lock().unwrap().push(host.to_owned());
            let mut names = self.0.lock().unwrap();
            let answers = names.get_mut(host).ok_or_else(|| io::Error::other("no such name"))?;
            Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
        })
    }
}

/// One host and what it noticed.
struct Host {
    egress: Egress,
    plugin: PluginName,
    notices: Arc<Mutex<Vec<RefusalNotice>>>,
}

impl Host {
    fn new(names: &Names) -> Self {
        Self::with(names, |_| {})
    }

    fn with(names: &Names, change: impl FnOnce(&mut EgressSettings)) -> Self {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let listener = notices.clone();
        let mut settings = EgressSettings {
            resolver: Arc::new(names.clone()),
            on_refusal: Some(Arc::new(move |notice| listener.lock().unwrap().push(notice.clone()))),
            ..EgressSettings::default()
        };
        change(&mut settings);
        Self { egress: Egress::new(settings), plugin: PluginName::new("p"), notices }
    }

    fn reasons(&self) -> Vec<&'static str> {
        self.notices.lock().unwrap().iter().map(|notice| notice.reason.name()).collect()
    }

    fn call(&self, grants: &str) -> Call {
        self.call_with(grants, SecretValues::default(), Duration::from_secs(20))
    }

    fn call_with(&self, grants: &str, values: SecretValues, time: Duration) -> Call {
        let grants = Grants::parse(grants).unwrap().shared();
        let vault = Vault::new(values, grants.clone());
        let session = self.egress.session(&self.plugin, grants, vault.clone(), Instant::now() + time);
        Call { session, vault }
    }
}

/// One call of a component.
struct Call {
    session: Session,
    vault: Vault,
}

#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

impl Call {
    async fn get(&self, url: &str) -> Result<Answer, WasiError> {
        self.send(request(Method::GET, url, b""), None).await
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        options: Option<RequestOptions>,
    ) -> Result<Answer, WasiError> {
        let request = request.map(|body| body.map_err(|never| match never {}).boxed_unsync());
        let response = self.session.send(request, options).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes().to_vec();
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }
}

fn request(method: Method, url: &str, body: &[u8]) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(url).body(Full::new(Bytes::copy_from_slice(body))).unwrap()
}

/// Grants the server by address, over plain HTTP.
fn loopback(port: u16) -> String {
    format!("egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n")
}

/// Grants a name that leads to the server, over plain HTTP.
fn named(name: &str, port: u16) -> String {
    format!("egress: [{{ host: {name}, scheme: http, ports: [{port}], addresses: loopback }}]\n")
}
