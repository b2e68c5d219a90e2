//! Shadows: their calls are compared with those of the serving version.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use machinist_core::driver::{Creation, MachineRequest, SecretValues};
use machinist_core::value::id::Uid;
use machinist_plugin_host::status::CallCounts;
use machinist_plugin_host::{Decision, PluginReport, PluginState, ShadowReport, SourceId};
use serde_json::json;

use crate::fixture::{Fixture, Map, marked, plain, renamed, request, version};

const TOKEN: &str = "canary-token-3f9b2d7c51";
const USER_DATA: &str = "#cloud-config\nbootstrap: canary.0123456789abcdef\n";
const SPEC: &str = r#"{"zone":"sim-1a","type":"sim.small","image":"linux-1"}"#;

fn sim() -> Vec<u8> {
    guests::bytes("sim-driver").expect("the driver builds")
}

/// The simulated cloud, and a world in which its driver serves.
struct Sky {
    cloud: simcloud::Server,
    world: Fixture,
}

impl Sky {
    async fn new() -> Self {
        let mut config = simcloud::Config { latency: simcloud::Latency::ZERO, ..simcloud::Config::default() };
        config.accounts[0].tokens[0].token = TOKEN.to_owned();
        let sky = Self { cloud: simcloud::Server::start(config).expect("starts"), world: Fixture::new() };
        sky.world.ready(sky.version("sim-1", sim()).created(1_000)).await;
        sky
    }

    fn version(&self, name: &str, component: Vec<u8>) -> Map {
        let port = self.cloud.addr().port().to_string();
        let grants = include_str!("../../../../../plugins/sim/grants.yaml").replace("PORT", &port);
        Map::new(name, component)
            .plugin("sim")
            .data("grants.yaml", &grants)
            .data("settings.json", &json!({ "endpoint": self.cloud.url() }).to_string())
    }

    /// A version that is a shadow of all calls.
    async fn shadow(&self, component: Vec<u8>, more: &str) -> PluginReport {
        let terms = format!("{{mode: shadow, share: 100%{more}}}");
        let map = self.version("sim-2", component).created(2_000).data("rollout.yaml", &terms);
        let report = self.world.declare(map).await;
        assert_eq!(report.state, PluginState::Trial, "{report:?}");
        report
    }

    /// Creates a VM for this Machine, queries it, and deletes it.
    async fn life(&self, uid: usize) {
        let ask = machine("sim", uid, SPEC);
        let created = self.world.host.create(ask.clone()).await;
        let Ok(Creation::Created(vm)) = created else { panic!("{created:?}") };
        let mut known = ask;
        known.machine.provider_id = Some(vm.provider_id);
        self.world.host.get_status(known.clone()).await.expect("is there");
        self.world.host.delete(known).await.expect("goes");
    }
}

fn machine(provider: &str, uid: usize, spec: &str) -> MachineRequest {
    let mut request = request(provider, spec);
    request.machine.uid = Uid::new(format!("uid-{uid}"));
    request.idempotency_key = format!("key-{uid}");
    let values = BTreeMap::from([("token".to_owned(), TOKEN.as_bytes().to_vec())]);
    request.secrets =
        SecretValues { values, user_data: Some(USER_DATA.as_bytes().to_vec()), ..SecretValues::default() };
    request
}

/// Returns the report of a shadow after this many calls.
async fn seen(world: &Fixture, source: &SourceId, calls: u64) -> ShadowReport {
    let since = Instant::now();
    loop {
        let shadow = world.report(source).rollout.and_then(|rollout| rollout.shadow).expect("a shadow");
        let CallCounts { same, differs, unread, broken, left_out } = shadow.totals();
        if same + differs + unread + broken + left_out >= calls {
            return shadow;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "{shadow:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_does_the_same_is_asked_without_its_cloud_and_answers_nobody() {
    let sky = Sky::new().await;
    sky.life(0).await;
    let alone = sky.cloud.stats();
    let report = sky.shadow(marked(&sim(), "2.0.0"), "").await;
    sky.life(1).await;
    let shadow = seen(&sky.world, &report.source, 3).await;
    assert_eq!(shadow.totals(), CallCounts { same: 3, ..CallCounts::default() }, "{shadow:?}");
    assert_eq!(
        shadow.functions.keys().copied().collect::<Vec<_>>(),
        ["CreateMachine", "DeleteMachine", "GetMachineStatus"]
    );
    let both = sky.cloud.stats();
    assert_eq!((both.created, both.terminated), (2 * alone.created, 2 * alone.terminated));
    for (operation, outcomes) in &alone.calls {
        assert_eq!(
            both.calls_of(operation),
            2 * outcomes.values().sum::<u64>(),
            "{operation}: reads come from the recording"
        );
    }
    let line =
        "machinist_plugin_shadow_calls_total{plugin=\"sim\",operation=\"CreateMachine\",result=\"same\"}";
    assert_eq!(sky.world.metric(line), 1);
    assert_eq!(sky.world.metric("machinist_plugin_rollouts_total{plugin=\"sim\",step=\"started\"}"), 1);
    let now = sky.world.report(&report.source);
    assert_eq!((now.state, now.serving), (PluginState::Trial, false), "nobody said that it may serve");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_write_is_reported_and_never_sent() {
    let sky = Sky::new().await;
    let report = sky.shadow(renamed(&sim(), "/v1/vms", "/v2/vms"), "").await;
    sky.life(1).await;
    let shadow = seen(&sky.world, &report.source, 3).await;
    let stats = sky.cloud.stats();
    assert_eq!((stats.created, stats.duplicates_ever), (1, 0), "one VM, whoever was asked");
    let create = shadow.examples.iter().find(|example| example.function == "CreateMachine").expect("differs");
    assert_eq!(create.subject, "shoot/machine-1");
    for part in ["request missing: ", "/v1/vms", "request additional: ", "/v2/vms", "answer differs"] {
        assert!(create.text.contains(part), "{part} is missing in\n{}", create.text);
    }
    let all = format!("{:?} {shadow:?}", sky.world.host.plugins());
    for secret in [TOKEN, USER_DATA, "0123456789abcdef"] {
        assert!(!all.contains(secret), "{secret} is in\n{all}");
    }
}

/// A version of the hostile driver, which does what its class says, behind a plain one.
async fn hostile(world: &Fixture, terms: &str) -> PluginReport {
    world.ready(Map::plain("plain-1", "1.0.0", &["plain"]).plugin("plain").created(1_000)).await;
    let settings = json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let map = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"))
        .plugin("plain")
        .created(2_000)
        .data("settings.json", &settings)
        .data("rollout.yaml", terms);
    let report = world.declare(map).await;
    assert_eq!(report.state, PluginState::Trial, "{report:?}");
    report
}

/// A cloud that says 200 to everything, and what it was asked.
fn cloud() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let _read = BufReader::new(&stream).read_line(&mut line);
            noted.lock().expect("nobody panics").push(line.trim_end().to_owned());
            let _written =
                (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (port, asked)
}

/// A hostile shadow with these lines beside its egress rule, called once for each method and path. Returns the requests
/// to the cloud, and the report.
async fn asked(more: &str, requests: &[(&str, &str)]) -> (Vec<String>, ShadowReport, Fixture) {
    let (world, (port, asked)) = (Fixture::new(), cloud());
    world.ready(Map::plain("plain-1", "1.0.0", &["plain"]).plugin("plain").created(1_000)).await;
    let settings = json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n{more}"
    );
    let map = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"))
        .plugin("plain")
        .created(2_000)
        .data("settings.json", &settings)
        .data("grants.yaml", &grants.replace("PORT", &port.to_string()))
        .data("rollout.yaml", "{mode: shadow, share: 100%}");
    let report = world.declare(map).await;
    for (calls, (method, path)) in (1..).zip(requests) {
        let plan =
            json!({ "do": "fetch", "method": method, "url": format!("http://127.0.0.1:{port}{path}") });
        assert_eq!(version(&world.host.create(machine("plain", calls, &plan.to_string())).await), "1.0.0");
        seen(&world, &report.source, calls as u64).await;
    }
    let shadow = seen(&world, &report.source, requests.len() as u64).await;
    let asked = asked.lock().expect("nobody panics").clone();
    (asked, shadow, world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_only_it_makes_reach_the_cloud_where_they_are_listed_and_writes_do_not() {
    let methods = ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD"];
    let requests = methods.map(|method| (method, "/1"));
    let listed = "shadow-reads: [{ host: 127.0.0.1, scheme: http, ports: [PORT], paths: [/1] }]";
    let (asked, shadow, _world) = asked(listed, &requests).await;
    assert_eq!(asked, ["GET /1 HTTP/1.1", "HEAD /1 HTTP/1.1"]);
    assert_eq!(shadow.totals(), CallCounts { differs: 6, ..CallCounts::default() });
    assert!(
        shadow.examples.iter().any(|example| example.text.contains("request additional: POST")),
        "{shadow:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_shadow_writes_by_a_method_that_reads() {
    let requests = [
        ("GET", "/?Action=TerminateInstances&InstanceId.1=i-1"),
        ("HEAD", "/?Action=TerminateInstances&InstanceId.1=i-2"),
        ("OPTIONS", "/?Action=TerminateInstances&InstanceId.1=i-3"),
        ("POST", "/?Action=TerminateInstances&InstanceId.1=i-4"),
    ];
    let (none, shadow, world) = asked("", &requests).await;
    assert_eq!(none, Vec::<String>::new());
    assert_eq!(shadow.totals(), CallCounts { unread: 2, differs: 2, ..CallCounts::default() });
    let text = &shadow.examples[0].text;
    assert!(text.contains("shadow-reads of its grants do not list it: GET"), "{text}");
    let line =
        "machinist_plugin_shadow_calls_total{plugin=\"plain\",operation=\"CreateMachine\",result=\"unread\"}";
    assert_eq!(world.metric(line), 2);
    let listed = "shadow-reads: [{ host: 127.0.0.1, scheme: http, ports: [PORT], paths: [/], methods: [GET], \
                  query: { Action: [DescribeInstances] } }]";
    let requests = [requests[0], requests[1], ("GET", "/?Action=DescribeInstances")];
    let (one, shadow, _world) = asked(listed, &requests).await;
    assert_eq!(one, ["GET /?Action=DescribeInstances HTTP/1.1"]);
    assert_eq!(shadow.totals(), CallCounts { unread: 2, differs: 1, ..CallCounts::default() });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_shadow_reads_with_credentials_that_are_not_listed() {
    let (world, (port, asked)) = (Fixture::new(), cloud());
    world.ready(Map::plain("plain-1", "1.0.0", &["plain"]).plugin("plain").created(1_000)).await;
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n\
         secrets: [{{ key: token, places: [{{ header: x-token }}] }}]\n\
         shadow-reads: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], paths: [/] }}]"
    );
    let settings = json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let map = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"))
        .plugin("plain")
        .created(2_000)
        .data("settings.json", &settings)
        .data("grants.yaml", &grants)
        .data("rollout.yaml", "{mode: shadow, share: 100%}");
    let report = world.declare(map).await;
    let url = format!("http://127.0.0.1:{port}/");
    for (calls, headers) in (1..).zip([
        json!([["machinist-auth", "bearer"]]),
        json!([["authorization", "Bearer of the driver's own"]]),
        json!([["cookie", "session=1"]]),
        json!([["x-token", "{{t}}"]]),
    ]) {
        let placeholders = json!({ "t": { "key": "token", "encodings": [] } });
        let plan = json!({
            "do": "fetch", "method": "GET", "url": url, "headers": headers, "placeholders": placeholders,
        });
        assert_eq!(version(&world.host.create(machine("plain", calls, &plan.to_string())).await), "1.0.0");
        seen(&world, &report.source, calls as u64).await;
    }
    assert_eq!(*asked.lock().expect("nobody panics"), Vec::<String>::new());
    let shadow = seen(&world, &report.source, 4).await;
    assert_eq!(shadow.totals(), CallCounts { unread: 4, ..CallCounts::default() }, "{shadow:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traps_withdraw_it_and_no_caller_meets_one() {
    let world = Fixture::new();
    let report = hostile(&world, "{mode: shadow, share: 100%}").await;
    for uid in 0..3 {
        let answer = world.host.create(machine("plain", uid, r#"{"do":"trap"}"#)).await;
        assert_eq!(version(&answer), "1.0.0");
        seen(&world, &report.source, uid as u64 + 1).await;
    }
    let withdrawn = world.report(&report.source);
    assert_eq!(withdrawn.state, PluginState::Withdrawn);
    assert_eq!(withdrawn.reason.as_deref(), Some("3 of its calls broke"));
    assert!(matches!(withdrawn.rollout.expect("a rollout").decision, Some(Decision::Withdrawn(_))));
    assert_eq!(world.metric("machinist_plugin_rollouts_total{plugin=\"plain\",step=\"withdrawn\"}"), 1);
    // Nobody asks it any more.
    let calls = world.report(&report.source).held.expect("it is held").calls_in_flight;
    assert_eq!((calls, version(&world.create("plain", r#"{"do":"trap"}"#).await).as_str()), (0, "1.0.0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shadow_that_hangs_delays_no_call_and_dropped_calls_are_counted() {
    let world = Fixture::new();
    let report = hostile(&world, "{mode: shadow, share: 100%}").await;
    let since = Instant::now();
    for uid in 0..40 {
        let answer = world.host.create(machine("plain", uid, r#"{"do":"sleep","ms":20000}"#)).await;
        assert_eq!(version(&answer), "1.0.0");
    }
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    let shadow = seen(&world, &report.source, 24).await;
    assert_eq!(shadow.totals(), CallCounts { left_out: 24, ..CallCounts::default() }, "16 are held");
    let since = Instant::now();
    world.host.shutdown().await;
    assert!(since.elapsed() < Duration::from_secs(5), "the end of the host ends them: {:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_its_share_is_asked_and_what_was_not_answered_is_compared_with_nothing() {
    let world = Fixture::new();
    world.ready(Map::plain("plain-1", "1.0.0", &["plain"]).plugin("plain").created(1_000)).await;
    let map = Map::plain("plain-2", "1.0.0", &["plain"])
        .plugin("plain")
        .created(2_000)
        .binary("plugin.wasm", marked(&plain(), "2"))
        .data("rollout.yaml", "{mode: shadow, classes: [large]}");
    let report = world.declare(map).await;
    for class in ["small", "large"] {
        let mut asked = machine("plain", 1, "{}");
        asked.class.name = class.into();
        assert_eq!(version(&world.host.create(asked).await), "1.0.0");
    }
    let shadow = seen(&world, &report.source, 1).await;
    assert_eq!(shadow.totals(), CallCounts { same: 1, ..CallCounts::default() });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enough_calls_that_do_not_differ_promote_it_where_that_is_said() {
    let sky = Sky::new().await;
    let more = ", promote_after: {calls: 6, minutes: 0}";
    let report = sky.shadow(marked(&sim(), "2.0.0"), more).await;
    sky.life(1).await;
    sky.life(2).await;
    seen(&sky.world, &report.source, 6).await;
    let promoted = sky.world.report(&report.source);
    assert_eq!((promoted.state, promoted.serving), (PluginState::Ready, true));
    assert_eq!(promoted.rollout.expect("a rollout").decision, Some(Decision::Promoted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_differences_withdraw_it_where_that_is_said() {
    let sky = Sky::new().await;
    let more = ", withdraw: {differing: 10%, minimum_calls: 3}";
    let report = sky.shadow(renamed(&sim(), "/v1/vms", "/v2/vms"), more).await;
    // Reads behind a create that differs are not compared: what counts are three creates.
    for number in 1..=3 {
        sky.life(number).await;
    }
    seen(&sky.world, &report.source, 9).await;
    let withdrawn = sky.world.report(&report.source);
    assert_eq!(withdrawn.state, PluginState::Withdrawn, "{withdrawn:?}");
    let reason = withdrawn.reason.expect("a reason");
    assert!(reason.contains("calls would have been other calls"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_a_shadow_saw_are_in_no_report() {
    let world = Fixture::new();
    world.ready(Map::plain("plain-1", "1.0.0", &["plain"]).plugin("plain").created(1_000)).await;
    let settings = json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let grants = "reveal: [token]\nsecrets: [{ key: token, places: [{ header: authorization }] }]";
    let map = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"))
        .plugin("plain")
        .created(2_000)
        .data("settings.json", &settings)
        .data("grants.yaml", grants)
        .data("rollout.yaml", "{mode: shadow, share: 100%}");
    let report = world.declare(map).await;
    world.host.create(machine("plain", 1, r#"{"do":"reveal"}"#)).await.expect("the other one answers");
    let shadow = seen(&world, &report.source, 1).await;
    assert_eq!(shadow.totals(), CallCounts { differs: 1, ..CallCounts::default() });
    let text = &shadow.examples[0].text;
    assert!(text.contains("***") && !text.contains(TOKEN), "it had the value, and spread it: {text}");
}
