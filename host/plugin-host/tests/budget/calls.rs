//! Calls that take memory, each within its own limits.

use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use machinist_core::driver::error::{Broken, CallError, GuestFailure, Limit, Refusal};
use machinist_plugin_host::PluginReport;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::alone;
use crate::fixture::{Fixture, Map, request, settings};

const MIB: u64 = 1 << 20;
/// Beside the budget: what the pool keeps of calls that are over, threads, the allocator.
const MARGIN: u64 = 128 * MIB;

/// The memory that this process has, by the kernel.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the kernel counts");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("is there");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") * 1024
}

async fn world(budget_bytes: u64, grants: &str) -> (Fixture, PluginReport) {
    let mut settings = settings();
    settings.memory_budget_bytes = Some(budget_bytes);
    settings.quarantine.broken_calls = 1_000;
    let world = Fixture::with(settings);
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let report = world.ready(Map::new("hostile", hostile).data("grants.yaml", grants)).await;
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    (world, report)
}

type Call = JoinHandle<Result<machinist_core::driver::Creation, CallError>>;

fn calls(world: &Fixture, count: usize, plan: &serde_json::Value) -> Vec<Call> {
    let call = |_| {
        let (host, ask) = (world.host.clone(), request("hostile", &plan.to_string()));
        tokio::spawn(async move { host.create(ask).await })
    };
    (0..count).map(call).collect()
}

/// Until all have ended: the most memory by the kernel and by the host's own count. An honest driver answers meanwhile.
async fn watch(world: &Fixture, calls: &[Call]) -> (u64, u64) {
    let before = resident_bytes();
    let (mut most, mut counted, mut answers) = (0, 0, 0);
    while !calls.iter().all(JoinHandle::is_finished) {
        let started = Instant::now();
        assert_eq!(world.version("plain").await, "1.0.0", "others do not notice");
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        answers += 1;
        most = most.max(resident_bytes().saturating_sub(before));
        counted = counted.max(world.metric("machinist_plugin_memory_bytes{plugin=\"hostile\"}"));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(answers > 3, "{answers} answers of the honest driver");
    (most, counted)
}

fn count(answers: &[Result<machinist_core::driver::Creation, CallError>]) -> (usize, usize, usize) {
    let broke = |error: &CallError| {
        matches!(
            error,
            CallError::Broken(Broken { failure: GuestFailure::Limit { limit: Limit::MemoryBudget, .. }, .. })
        )
    };
    let waited = |error: &CallError| matches!(error, CallError::Refused(Refusal::NoMemory { .. }));
    let of = |is: &dyn Fn(&CallError) -> bool| {
        answers.iter().filter(|answer| answer.as_ref().is_err_and(is)).count()
    };
    (answers.iter().filter(|answer| answer.is_ok()).count(), of(&broke), of(&waited))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_many_calls_that_fill_memory_and_wait() {
    let _alone = alone().await;
    let budget_bytes = 256 * MIB;
    let grants = "limits: { memory_mib: 128, cpu_ms: 60000, deadline_ms: 60000, calls_in_flight: 64 }";
    let (world, report) = world(budget_bytes, grants).await;
    let plan = json!({ "do": "allocate", "until": 100 * MIB, "then": "sleep", "ms": 2_000 });
    let calls = calls(&world, 48, &plan);
    let (most, counted) = watch(&world, &calls).await;
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.expect("no panic"));
    }
    let (good, broke, waited) = count(&answers);
    assert!(good >= 1 && broke >= 1 && good + broke + waited == 48, "{good} {broke} {waited}: {answers:?}");
    assert!(counted <= budget_bytes && counted > budget_bytes / 2, "{counted}");
    assert!(most <= budget_bytes + MARGIN, "{} MiB", most / MIB);
    let kind = "machinist_plugin_breakages_total{plugin=\"hostile\",kind=\"memory-budget\"}";
    assert_eq!(world.metric(kind), broke as u64);
    let warnings = world.report(&report.source).warnings.join("; ");
    assert!(warnings.contains("no memory") && warnings.contains("--plugin-memory"), "{warnings}");
    assert_eq!(world.metric("machinist_plugin_memory_bytes{plugin=\"hostile\"}"), 0, "all is given back");
    // The next one knows how much it needs, and finds it.
    let plan = json!({ "do": "allocate", "until": 30 * MIB });
    assert!(world.create("hostile", &plan.to_string()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_bodies_to_a_cloud_that_does_not_read() {
    let _alone = alone().await;
    let cloud = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = cloud.local_addr().expect("an address").port();
    // It takes connections, reads one byte, and keeps them.
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in cloud.incoming().flatten() {
            let _ = stream.read(&mut [0; 1]);
            kept.push(stream);
        }
    });
    let budget_bytes = 96 * MIB;
    let (world, _) = world(budget_bytes, &format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n\
         limits: {{ memory_mib: 32, cpu_ms: 60000, deadline_ms: 15000, requests_per_call: 100, request_kib: 1024, \
         calls_in_flight: 64, handles: 2000 }}"
    ))
    .await;
    let body = json!({ "repeat": "0123456789abcdef", "times": 65_536 });
    let url = format!("http://127.0.0.1:{port}/");
    let plan = json!({ "do": "fetch", "method": "POST", "url": url, "body": body, "parallel": 100 });
    let calls = calls(&world, 8, &plan);
    let (most, counted) = watch(&world, &calls).await;
    for call in calls {
        let _ended = call.await.expect("no panic");
    }
    assert!(counted <= budget_bytes && counted > budget_bytes / 2, "{counted}");
    assert!(most <= budget_bytes + MARGIN, "{} MiB", most / MIB);
    let refused = "machinist_plugin_http_refused_total{plugin=\"hostile\",reason=\"memory-budget\"}";
    assert!(world.metric(refused) > 0, "requests beyond the budget are refused by name");
    let given_back = async {
        while world.metric("machinist_plugin_memory_bytes{plugin=\"hostile\"}") > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let given_back = tokio::time::timeout(Duration::from_secs(60), given_back).await;
    let held = world.metric("machinist_plugin_memory_bytes{plugin=\"hostile\"}");
    assert!(given_back.is_ok(), "{held} bytes stay with the connections");
}
