//! The cloud as tests start and query it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use faulty_http::{AnswerBody, Broken, ServerThread, serve};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use jiff::Timestamp;

use crate::control::{self, control};
use crate::faults::{Effect, Rule};
use crate::http::{Answer, Request, admit, refused, work};
use crate::options::Options;
use crate::project::servers::Power;
use crate::project::{Project, Refusal};
use crate::server::LiveServer;

const THREADS: usize = 2;
const REQUEST_LIMIT_BYTES: usize = 1024 * 1024;

/// A running cloud, on threads of its own. It stops when it is dropped.
#[derive(Debug)]
pub struct Hetzner {
    shared: Arc<Shared>,
    thread: ServerThread,
    token: String,
}

/// A request that was answered, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub method: String,
    pub path: String,
    /// Absent: the caller got no answer.
    pub status: Option<u16>,
}

/// Everything that machines have and that can be left over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub servers: Vec<String>,
    pub floating_ips: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    project: Mutex<Project>,
    rules: Mutex<Vec<Rule>>,
    journal: Mutex<Vec<Entry>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hetzner {
    /// Starts it; it answers when this returns.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let (listen, token) = (options.listen, options.token.clone());
        let shared = Arc::new(Shared {
            project: Mutex::new(Project::new(options)),
            rules: Mutex::default(),
            journal: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let answer = move |head, body| {
            let shared = Arc::clone(&serving);
            async move { shared.answer(&head, body).await }
        };
        let thread = ServerThread::start("hetzner", THREADS, listen, |listener| {
            serve(listener, REQUEST_LIMIT_BYTES, answer)
        })
        .context("failed to start Hetzner Cloud for tests")?;
        Ok(Self { shared, thread, token })
    }

    /// The base URL, without `/v1`.
    pub fn url(&self) -> String {
        self.thread.url()
    }

    /// The token that may do everything.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Adds a fault. Rules are asked in their order, and the first that applies counts.
    pub fn add(&self, rule: Rule) {
        lock(&self.shared.rules).push(rule);
    }

    /// Removes all rules, so that no fault follows.
    pub fn calm(&self) {
        lock(&self.shared.rules).clear();
    }

    /// The requests so far.
    pub fn journal(&self) -> Vec<Entry> {
        lock(&self.shared.journal).clone()
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        lock(&self.shared.journal).clear();
    }

    /// Lets a location have no room: for creates, or only when a server is to start.
    pub fn fill(&self, location: &str, is_late: bool) {
        let mut project = lock(&self.shared.project);
        let catalog = &mut project.catalog;
        if is_late { &mut catalog.cannot_start } else { &mut catalog.full }.insert(location.to_owned());
    }

    /// Lets every location have room.
    pub fn empty(&self) {
        let mut project = lock(&self.shared.project);
        project.catalog.full.clear();
        project.catalog.cannot_start.clear();
    }

    /// Everything that exists, by name and id. Actions whose time has come have ended.
    pub fn leftovers(&self) -> Leftovers {
        let mut project = lock(&self.shared.project);
        project.complete_due();
        Leftovers {
            servers: project.servers.values().map(|server| server.name.clone()).collect(),
            floating_ips: project.floating_ips.values().map(|address| address.name.clone()).collect(),
        }
    }

    /// The most servers that had this uid at one time.
    pub fn most_at_once(&self, uid: &str) -> usize {
        lock(&self.shared.project).most_at_once.get(uid).copied().unwrap_or_default()
    }

    /// The servers that live, for kubelets and tests. Actions whose time has come have ended.
    pub fn servers(&self) -> Vec<LiveServer> {
        let mut project = lock(&self.shared.project);
        project.complete_due();
        let live = project.servers.values().filter(|server| server.power != Power::Deleting);
        live.map(|server| LiveServer::of(&project, server)).collect()
    }

    /// How often a server was created, by the uid that it carried.
    pub fn created(&self) -> BTreeMap<String, u64> {
        lock(&self.shared.project).created.clone()
    }

    /// The uids that had more than one server at one time.
    pub fn duplicates(&self) -> usize {
        lock(&self.shared.project).most_at_once.values().filter(|most| **most > 1).count()
    }

    /// From here on reads do not show a new server or Floating IP for this long.
    pub fn set_lag(&self, lag: Duration) {
        lock(&self.shared.project).options.creation_lag = lag;
    }

    /// Somebody deletes a server by hand. False if an action works on it, or it is not there.
    pub fn remove_by_hand(&self, id: i64) -> bool {
        lock(&self.shared.project).delete_server(id).is_ok()
    }

    /// The user data of the server with this name.
    pub fn user_data(&self, name: &str) -> Option<String> {
        let project = lock(&self.shared.project);
        project.servers.values().find(|server| server.name == name)?.user_data.clone()
    }
}

impl Shared {
    async fn answer(&self, head: &Parts, body: Bytes) -> faulty_http::Answer {
        let request = Request::new(head, body);
        let (method, path) = (request.method.clone(), request.path.clone());
        if path.starts_with(control::PREFIX) {
            let (mut project, mut rules) = (lock(&self.project), lock(&self.rules));
            return whole(&control(&mut project, &mut rules, &request));
        }
        let effect = {
            let mut rules = lock(&self.rules);
            rules.iter_mut().find_map(|rule| rule.takes(&method, &path).then(|| rule.effect.clone()))
        };
        let answered = self.suffer(&request, effect).await;
        let status = answered.as_ref().ok().map(|answer| answer.status().as_u16());
        lock(&self.journal).push(Entry { method, path, status });
        answered
    }

    /// Does the work of a request, as a fault says.
    async fn suffer(&self, request: &Request, effect: Option<Effect>) -> faulty_http::Answer {
        match effect {
            None => whole(&self.work(request)),
            Some(Effect::LostRequest) => Err(Broken),
            Some(Effect::LostAnswer) => {
                self.work(request);
                Err(Broken)
            }
            Some(Effect::HalfAnswer) => {
                let answer = self.work(request);
                let half = answer.body.slice(..answer.body.len() / 2);
                builder(&answer)
                    .header(CONTENT_LENGTH, answer.body.len())
                    .body(AnswerBody::cut(half))
                    .map_err(|_| Broken)
            }
            Some(Effect::CutJson) => {
                let answer = self.work(request);
                whole(&Answer { body: answer.body.slice(..answer.body.len() / 2), ..answer })
            }
            Some(Effect::Error { status, code, is_after_work }) => {
                if is_after_work {
                    self.work(request);
                }
                whole(&refused(Refusal::new(status, code, format!("{code} by the tests' wish"))))
            }
            Some(Effect::Html { status, is_after_work }) => {
                if is_after_work {
                    self.work(request);
                }
                let page = "<html><body><h1>502 Bad Gateway</h1></body></html>";
                let response = ::http::Response::builder().status(status).header(CONTENT_TYPE, "text/html");
                response.body(AnswerBody::whole(page)).map_err(|_| Broken)
            }
            Some(Effect::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                whole(&self.work(request))
            }
            Some(Effect::Instead(text)) => {
                whole(&Answer { status: 200, body: Bytes::from(text), left: None })
            }
        }
    }

    fn work(&self, request: &Request) -> Answer {
        let mut project = lock(&self.project);
        let admitted = admit(&mut project, request);
        let answer = admitted.and_then(|()| work(&mut project, request)).unwrap_or_else(refused);
        Answer { left: project.left(), ..answer }
    }
}

fn whole(answer: &Answer) -> faulty_http::Answer {
    builder(answer).body(AnswerBody::whole(answer.body.clone())).map_err(|_| Broken)
}

fn builder(answer: &Answer) -> ::http::response::Builder {
    let mut response = ::http::Response::builder()
        .status(answer.status)
        .header(CONTENT_TYPE, "application/json")
        .header("x-correlation-id", "tests");
    if let Some((limit, left, seconds)) = answer.left {
        let reset = Timestamp::now().as_second() + i64::from(seconds);
        response = response
            .header("ratelimit-limit", limit)
            .header("ratelimit-remaining", left)
            .header("ratelimit-reset", reset);
    }
    response
}
