//! The cloud behind HTTP, on threads of its own.
//!
//! Beside Google's paths it serves `GET /admin/vms?cluster=&uid=` and `POST /admin/plant?cluster=&uid=&name=&tags=`,
//! for the conformance kit. Both answer with a list of `zone/name`, each in an element `vm`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
pub use faulty_http::StartError;
use faulty_http::{AnswerBody, Broken, ServerThread, serve};
use http::Response;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap};
use http::request::Parts;
use serde_json::json;

use crate::cloud::{Cloud, Config};
use crate::wire::{Answer, Delivery, Request};

const REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// A running cloud. It stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    thread: ServerThread,
    cloud: Arc<Mutex<Cloud>>,
}

impl Server {
    /// Starts a cloud on a free port of loopback; it answers when this returns.
    pub fn start(config: Config) -> Result<Self, StartError> {
        Self::start_at(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts a cloud at an address.
    pub fn start_at(config: Config, address: SocketAddr) -> Result<Self, StartError> {
        let cloud = Arc::new(Mutex::new(Cloud::new(config)));
        let serving = Arc::clone(&cloud);
        let thread = ServerThread::start("gcp", 2, address, move |listener| async move {
            let answer = move |head, body| answer(Arc::clone(&serving), head, body);
            serve(listener, REQUEST_BYTES, answer).await;
        })?;
        Ok(Self { thread, cloud })
    }

    /// The base URL, without a slash at the end.
    pub fn url(&self) -> String {
        self.thread.url()
    }

    /// The cloud itself, at the present time. Requests wait until the guard is dropped.
    pub fn cloud(&self) -> MutexGuard<'_, Cloud> {
        let mut cloud = locked(&self.cloud);
        cloud.advance(now_ms());
        cloud
    }
}

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn locked(cloud: &Mutex<Cloud>) -> MutexGuard<'_, Cloud> {
    cloud.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(cloud: Arc<Mutex<Cloud>>, head: Parts, body: Bytes) -> faulty_http::Answer {
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let request = Request {
        method: head.method.as_str().to_owned(),
        target: target.to_owned(),
        token: bearer(&head.headers),
        body: body.to_vec(),
    };
    let answer = match request.path() {
        "/admin/vms" | "/admin/plant" => admin(&mut locked(&cloud), &request),
        _ => locked(&cloud).handle(&request, now_ms()),
    };
    deliver(answer)
}

fn admin(cloud: &mut Cloud, request: &Request) -> Answer {
    let query = request.query();
    let parameter = |name: &str| {
        let found = query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    cloud.advance(now_ms());
    let (cluster, uid) = (parameter("cluster"), parameter("uid"));
    let vms: Vec<String> = if request.path() == "/admin/plant" {
        let mut labels = json!({});
        for (key, value) in [("machinist-cluster", &cluster), ("machinist-machine-uid", &uid)] {
            if !value.is_empty() {
                labels[key] = json!(value);
            }
        }
        let tags = parameter("tags");
        let tags: Vec<&str> = tags.split(' ').filter(|tag| !tag.is_empty()).collect();
        let name = parameter("name");
        vec![format!("{}/{name}", cloud.plant(&name, &labels, &tags))]
    } else {
        let has = |vm: &crate::cloud::VmView, key: &str, value: &str| {
            vm.labels.get(key).is_some_and(|known| known == value)
        };
        let mut vms = cloud.vms();
        vms.retain(|vm| has(vm, "machinist-cluster", &cluster) && has(vm, "machinist-machine-uid", &uid));
        vms.into_iter().map(|vm| format!("{}/{}", vm.zone, vm.name)).collect()
    };
    let text: String = vms.iter().map(|vm| format!("<vm>{vm}</vm>\n")).collect();
    let headers = vec![("content-type", "text/plain".to_owned())];
    Answer { status: 200, headers, body: text.into_bytes(), delivery: Delivery::Whole }
}

fn deliver(answer: Answer) -> faulty_http::Answer {
    let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let mut response = Response::builder().status(answer.status).header("date", date);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    let body = match answer.delivery {
        Delivery::Whole => AnswerBody::whole(answer.body),
        Delivery::Cut => {
            response = response.header(CONTENT_LENGTH, answer.body.len());
            let mut sent = answer.body;
            sent.truncate(sent.len() / 2);
            AnswerBody::cut(sent)
        }
        Delivery::Never => return Err(Broken),
    };
    response.body(body).map_err(|_| Broken)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}
