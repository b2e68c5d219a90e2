//! The scene of attacks: a host with a driver that misbehaves on demand and an honest one, a name service in the hands
//! of the attacker, and a cloud that may be hostile as well.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use machinist_core::driver::error::CallError;
use machinist_core::driver::{Creation, DriverResult, SecretValues};
use machinist_plugin_host::testing::{InspectedCall, LogLine, MemoryInspector};
use machinist_plugin_host::{HostSettings, RefusalNotice, Resolve};
use serde_json::Value;

use crate::fixture::{Fixture, Map, request, settings};

pub(super) const TOKEN: &str = "canary-token-3f9b2d7c51";
pub(super) const PASSWORD: &str = "canary/password+8d2f0a";
/// Its secret begins behind the bytes that a driver may compare.
pub(super) const USER_DATA: &str = "#cloud-config\n# a comment that is as long as what a driver may compare ..\nbootstrap: canary.0123456789abcdef\n";

fn hostile() -> Vec<u8> {
    guests::bytes("hostile-driver").expect("the driver builds")
}

/// Values that no test may find outside of the host.
const CANARIES: [&str; 7] = [
    TOKEN, PASSWORD, "canary.0123456789abcdef", "Y2FuYXJ5LXRva2VuLTNmOWIyZDdjNT",
    "canary%2Fpassword%2B8d2f0a", "63616e6172792d746f6b656e", "canary\\/password",
];

/// Small limits, so that each is hit within a moment.
const LIMITS: &str = "limits: { memory_mib: 32, table_elements: 20000, cpu_ms: 500, deadline_ms: 8000, copied_kib: 4096, \
     handles: 100, response_kib: 64, request_kib: 4096, requests_per_call: 20 }";

/// Answers in turn; the last answer stays.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut names = self.0.lock().expect("no panic");
            let answers = names.get_mut(host).ok_or_else(|| io::Error::other("no such name"))?;
            if answers.len() > 1 {
                Ok(answers.remove(0))
            } else {
                Ok(answers.first().cloned().unwrap_or_default())
            }
        })
    }
}

/// Looks for canaries in the memory of each instance when its call is over.
#[derive(Default)]
struct Watch {
    inspected: Mutex<usize>,
    found: Mutex<Vec<&'static str>>,
}

impl MemoryInspector for Watch {
    fn call_ended(&self, call: &InspectedCall<'_>) {
        *self.inspected.lock().expect("no panic") += 1;
        let found = CANARIES.into_iter().filter(|canary| call.contains(canary.as_bytes()));
        self.found.lock().expect("no panic").extend(found);
    }
}

pub(super) struct Scene {
    pub(super) world: Fixture,
    pub(super) cloud: Cloud,
    names: Names,
    notices: Arc<Mutex<Vec<RefusalNotice>>>,
    lines: Arc<Mutex<Vec<LogLine>>>,
    watch: Option<Arc<Watch>>,
}

impl Scene {
    /// With a cloud that says `ok` to everything.
    pub(super) async fn new() -> Self {
        Self::with(Cloud::polite()).await
    }

    /// With a cloud that says `ok` to everything, where no call may leave a secret in its memory.
    pub(super) async fn watched() -> Self {
        Self::watched_with(Cloud::polite()).await
    }

    pub(super) async fn watched_with(cloud: Cloud) -> Self {
        let (watch, mut settings) = (Arc::new(Watch::default()), settings());
        settings.memory_inspector = Some(watch.clone());
        Self { watch: Some(watch), ..Self::staged(cloud, settings, hostile()).await }
    }

    /// `cloud.test` is granted by name and leads to the cloud. A token may be in its header `x-token`, user data in
    /// `/vm/userData` of JSON.
    pub(super) async fn with(cloud: Cloud) -> Self {
        Self::staged(cloud, settings(), hostile()).await
    }

    /// With room for so many calls at a time.
    pub(super) async fn narrow(cloud: Cloud, calls: usize) -> Self {
        let mut settings = settings();
        settings.max_calls_in_flight = calls;
        settings.default_limits.calls_in_flight = calls;
        Self::staged(cloud, settings, hostile()).await
    }

    /// With another component as the hostile driver.
    pub(super) async fn of(component: Vec<u8>) -> Self {
        Self::staged(Cloud::polite(), settings(), component).await
    }

    async fn staged(cloud: Cloud, mut settings: HostSettings, hostile: Vec<u8>) -> Self {
        let (names, notices, lines) = (Names::default(), Arc::default(), Arc::default());
        let listener: Arc<Mutex<Vec<RefusalNotice>>> = Arc::clone(&notices);
        let reader: Arc<Mutex<Vec<LogLine>>> = Arc::clone(&lines);
        settings.log_listener =
            Some(Arc::new(move |line| reader.lock().expect("no panic").push(line.clone())));
        // Attacks break one call after the other.
        settings.quarantine.broken_calls = 1_000;
        settings.egress.resolver = Arc::new(names.clone());
        settings.egress.on_refusal =
            Some(Arc::new(move |notice| listener.lock().expect("no panic").push(notice.clone())));
        let world = Fixture::with(settings);
        let port = cloud.port;
        let grants = format!(
            "egress:\n\
             - {{ host: cloud.test, scheme: http, ports: [{port}], addresses: [loopback] }}\n\
             - {{ host: other.test, scheme: http, ports: [{port}], addresses: [loopback] }}\n\
             - {{ host: public.test, scheme: http, ports: [{port}], addresses: [public] }}\n\
             secrets:\n\
             - {{ key: token, places: [{{ header: x-token }}], hosts: [cloud.test] }}\n\
             - {{ key: userData, places: [{{ json: /vm/userData }}], hosts: [cloud.test] }}\n\
             auth: [{{ scheme: basic, hosts: [cloud.test] }}]\n{LIMITS}\n"
        );
        world.ready(Map::new("hostile", hostile).data("grants.yaml", &grants)).await;
        world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
        let scene = Self { world, cloud, names, notices, lines, watch: None };
        scene.name("cloud.test", &[&["127.0.0.1"]]);
        scene.name("other.test", &[&["127.0.0.1"]]);
        scene
    }

    /// Sets the answers of the name service for a name, in turn.
    pub(super) fn name(&self, name: &str, answers: &[&[&str]]) {
        let parsed = |answer: &&[&str]| answer.iter().map(|text| text.parse().expect("an address")).collect();
        let answers = answers.iter().map(parsed).collect();
        self.names.0.lock().expect("no panic").insert(name.to_owned(), answers);
    }

    pub(super) fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.cloud.port)
    }

    /// Makes one call of the hostile driver, with secrets. Its result has no secret, and the honest driver answers
    /// afterwards.
    pub(super) async fn call(&self, plan: &Value) -> DriverResult<Creation> {
        self.call_with(plan, TOKEN).await
    }

    /// The same with another token.
    pub(super) async fn call_with(&self, plan: &Value, token: &str) -> DriverResult<Creation> {
        let mut ask = request("hostile", &plan.to_string());
        let values = [("token", token), ("username", "somebody"), ("password", PASSWORD)];
        let values = values.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        ask.secrets = SecretValues {
            values: values.into(),
            user_data: Some(USER_DATA.as_bytes().to_vec()),
            ..SecretValues::default()
        };
        let before = self.inspected();
        let answer = self.world.host.create(ask).await;
        if let Some(watch) = &self.watch {
            assert!(self.inspected() > before, "{plan}: nobody looked");
            assert_eq!(*watch.found.lock().expect("no panic"), [] as [&str; 0], "{plan}: in its memory");
        }
        for line in self.lines.lock().expect("no panic").drain(..) {
            shows_nothing(&format!("{line:?}"));
        }
        shows_nothing(&format!("{answer:?}"));
        for notice in self.notices.lock().expect("no panic").iter() {
            shows_nothing(&notice.target);
        }
        assert_eq!(self.world.version("plain").await, "1.0.0", "others do not notice");
        answer
    }

    /// Returns how many instances the inspector has seen.
    fn inspected(&self) -> usize {
        self.watch.as_ref().map_or(0, |watch| *watch.inspected.lock().expect("no panic"))
    }

    /// Returns the hostile driver's report about its attack.
    pub(super) async fn report(&self, plan: &Value) -> Value {
        match self.call(plan).await {
            Ok(Creation::Created(vm)) => {
                let state = vm.last_known_state.expect("a report");
                serde_json::from_str(state.as_str()).expect("JSON")
            }
            other => panic!("no report: {other:?}"),
        }
    }

    /// The attack ends in a guest failure of this kind, which is counted each time.
    pub(super) async fn breaks(&self, plan: &Value, kind: &str) {
        let counter = format!("machinist_plugin_breakages_total{{plugin=\"hostile\",kind=\"{kind}\"}}");
        let before = self.world.metric(&counter);
        for _ in 0..2 {
            let error = self.call(plan).await.expect_err("breaks");
            assert!(matches!(error, CallError::Broken(_)), "{plan}: {error:?}");
        }
        assert_eq!(self.world.metric(&counter) - before, 2, "{plan}: {counter}");
    }

    /// The attack's request is refused for this reason, reported and counted.
    pub(super) async fn refused(&self, plan: &Value, reason: &str) -> Value {
        let counter =
            format!("machinist_plugin_http_refused_total{{plugin=\"hostile\",reason=\"{reason}\"}}");
        let (before, earlier) = (self.world.metric(&counter), self.notices.lock().expect("no panic").len());
        let report = self.report(plan).await;
        let notices: Vec<RefusalNotice> = self.notices.lock().expect("no panic")[earlier..].to_vec();
        assert!(!notices.is_empty(), "{plan}: {report}");
        assert!(notices.iter().all(|notice| notice.reason.name() == reason), "{plan}: {notices:?}");
        assert_eq!(self.world.metric(&counter) - before, notices.len() as u64, "{counter}");
        report
    }

    pub(super) fn refusals(&self) -> usize {
        self.notices.lock().expect("no panic").len()
    }
}

#[track_caller]
pub(super) fn shows_nothing(text: &str) {
    for canary in CANARIES {
        assert!(!text.contains(canary), "{canary} in {text}");
    }
}

/// A server on loopback, which keeps what it got.
pub(super) struct Cloud {
    pub(super) port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Cloud {
    pub(super) fn polite() -> Self {
        Self::saying(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".to_vec())
    }

    /// Answers each request by a function, and closes.
    pub(super) fn saying(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::serving(move |mut stream, request| {
            let _ = stream.write_all(&answer(request));
        })
    }

    /// Does with the stream whatever a function does, once a request is there. Threads end when their stream does.
    pub(super) fn serving(serve: impl Fn(TcpStream, &str) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (seen, serve) = (Arc::new(Mutex::new(Vec::new())), Arc::new(serve));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (serve, log) = (Arc::clone(&serve), Arc::clone(&log));
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    let mut reading = stream.try_clone().expect("a handle");
                    if let Some(request) = read_request(&mut reading) {
                        log.lock().expect("no panic").push(request.clone());
                        serve(stream, &request);
                    }
                });
            }
        });
        Self { port, seen }
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").clone()
    }
}

/// All that comes until the length is there that the head names. Bytes that are no text become marks.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut got = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        got.extend_from_slice(&piece[..length]);
        let Some(head) = got.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&got[..head]).to_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        if got.len() >= head + 4 + length.and_then(|text| text.parse().ok()).unwrap_or(0) {
            return Some(String::from_utf8_lossy(&got).into_owned());
        }
    }
}
