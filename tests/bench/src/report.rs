//! The figures as a page.

use std::fmt::Write as _;
use std::time::Duration;

use crate::calls::{self, Pair};
use crate::conditions::Conditions;
use crate::machines::{self, Troubled};

/// Aims of the first figures.
const WALL_RATIO: f64 = 3.0;
const WRITES: f64 = 7.0;
const REQUESTS: f64 = 10.0;
const CLOUD_CALLS: f64 = 3.0;
const PEAK_MB: f64 = 80.0;

/// A Markdown page with what was measured.
pub(crate) fn render(
    conditions: &Conditions,
    calls: Option<&calls::Figures>,
    machines: Option<&machines::Figures>,
) -> String {
    let mut page = String::from(
        "# Figures\n\nWritten by `cargo xtask bench -- --write`. Compare ratios, not seconds: each figure stands beside a \
         baseline of the same run.\n\n",
    );
    let api_server =
        machines.map(|figures| format!(", kube-apiserver {}", figures.api_server)).unwrap_or_default();
    line(
        &mut page,
        format_args!(
            "Conditions: {}, {} cores, {} GiB of memory, load {} at the start, release build, machinist {}, wasmtime {}, \
             kube {}{api_server}. Everything runs on the same cores.",
            conditions.date,
            conditions.cores,
            conditions.memory_gib,
            conditions.load,
            env!("CARGO_PKG_VERSION"),
            conditions.wasmtime,
            conditions.kube,
        ),
    );
    if let Some(figures) = calls {
        render_calls(&mut page, figures);
    }
    if let Some(figures) = machines {
        render_machines(&mut page, figures);
        render_requests(&mut page, figures);
        render_troubled(&mut page, &figures.troubled);
    }
    page
}

/// Writing to a text cannot fail.
fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(page, "{text}");
}

fn heading(page: &mut String, title: &str, text: &str) {
    line(page, format_args!("\n## {title}\n\n{text}\n"));
}

fn render_calls(page: &mut String, figures: &calls::Figures) {
    heading(
        page,
        "A driver call in a fresh instance",
        "One call at a time, in turn with the same work in plain Rust (for the request: `reqwest` with pooled connections). \
         The server is one thread on loopback that answers at once. Times in µs.",
    );
    line(
        page,
        format_args!("| call | sandboxed median | p99 | plain median | p99 | over plain, median | aim |"),
    );
    line(page, format_args!("| --- | --- | --- | --- | --- | --- | --- |"));
    for pair in &figures.pairs {
        line(
            page,
            format_args!(
                "| {} | {} | {} | {} | {} | **{}** | {} |",
                pair.what,
                micros(pair.sandboxed.median()),
                micros(pair.sandboxed.p99()),
                micros(pair.native.median()),
                micros(pair.native.p99()),
                micros(pair.over_native()),
                aim_of(pair),
            ),
        );
    }
    let rounds = figures.pairs.first().map_or(0, |pair| pair.rounds);
    let (sandboxed, native) = figures.http_a_second;
    line(
        page,
        format_args!(
            "\n{rounds} calls each. With {} callers at the same time: {:.0} empty calls a second; {sandboxed:.0} calls with a \
             request, plain Rust {native:.0}.",
            figures.callers, figures.empty_a_second,
        ),
    );
}

fn aim_of(pair: &Pair) -> String {
    pair.aim.map_or("-".to_owned(), |aim| {
        format!("at most {}: {}", aim.as_micros(), verdict(pair.over_native() <= aim))
    })
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}

fn render_machines(page: &mut String, figures: &machines::Figures) {
    heading(
        page,
        &format!("{} Machines from create to Running", figures.machines),
        &format!(
            "Real etcd and kube-apiserver without kube-controller-manager; the cloud answers a create after 20 ms and boots in \
             500 ms; kubelets join with the token out of their user data; the host runs under its least-privilege account. \
             {} Machines are created at the same time. The plain client creates as many Machines and makes the host's \
             writes of the same kinds, one Machine's in sequence, {} Machines at once, and neither reads nor watches; the host \
             is stopped meanwhile.",
            figures.baseline.concurrency, figures.baseline.concurrency,
        ),
    );
    line(page, format_args!("| what | figure | aim |"));
    line(page, format_args!("| --- | --- | --- |"));
    let count = count(figures.machines);
    let (wall, plain) = (figures.wall.as_secs_f64(), figures.baseline.wall.as_secs_f64());
    row(page, "create until all are Running", format!("{wall:.2} s"), None);
    row(page, "plain client", format!("{plain:.2} s for {} writes", figures.baseline.writes), None);
    row(page, "ratio", format!("**{:.2}**", wall / plain), Some((WALL_RATIO, wall / plain)));
    let each = &figures.each;
    let spread =
        format!("{:.2} / {:.2} / {:.2} s", secs(each.median()), secs(each.p99()), secs(each.longest()));
    row(page, "one Machine, median / p99 / longest", spread, None);
    let requests = &figures.requests;
    for (what, total, aim) in [
        ("writes of the host a Machine", requests.writes(), WRITES),
        ("requests of the host a Machine", requests.total(), REQUESTS),
        ("cloud calls a Machine", figures.cloud_calls(), CLOUD_CALLS),
    ] {
        let each = float(total) / count;
        row(page, what, format!("**{each:.2}**"), Some((aim, each)));
    }
    row(page, "duplicate VMs", figures.duplicates.to_string(), Some((0.0, float(figures.duplicates))));
    let peak = megabytes(figures.peak_bytes);
    let memory =
        format!("**{peak:.1} MB** ({:.1} MB before the first of them)", megabytes(figures.idle_bytes));
    row(page, "peak memory of the host", memory, Some((PEAK_MB, peak)));
    let (cpu, baseline) = (&figures.cpu, &figures.baseline);
    row(page, "CPU of the host", format!("{:.2} s", secs(cpu.host)), None);
    let servers = format!(
        "{:.2} s and {:.2} s; plain client: {:.2} s for the API server",
        secs(cpu.api_server),
        secs(cpu.etcd),
        secs(baseline.api_server_cpu)
    );
    row(page, "CPU of API server and etcd", servers, None);
    let others = format!(
        "{:.2} s; plain client: {:.2} s for client, cloud and kubelets",
        secs(cpu.bench),
        secs(baseline.client_cpu)
    );
    row(page, "CPU of cloud, kubelets and whoever creates and watches", others, None);
    let busy = format!("{:.2}; plain client: {:.2} (with etcd)", cpu.others, baseline.others);
    row(page, "cores busy with something else", busy, None);
}

fn row(page: &mut String, what: &str, figure: impl std::fmt::Display, aim: Option<(f64, f64)>) {
    let aim = aim.map_or(String::new(), |(most, is)| format!("at most {most}: {}", verdict(is <= most)));
    line(page, format_args!("| {what} | {figure} | {aim} |"));
}

fn render_requests(page: &mut String, figures: &machines::Figures) {
    heading(
        page,
        "Requests a Machine",
        "By the host's own counters, until it has nothing more to ask. Events, Leases and watches are not part of the sums \
         above.",
    );
    line(page, format_args!("| request | a Machine |"));
    line(page, format_args!("| --- | --- |"));
    let count = count(figures.machines);
    for (request, total) in &figures.requests.0 {
        let failed = request.failed.as_ref().map(|code| format!(", answered by {code}")).unwrap_or_default();
        let apart = if request.is_apart() { " (apart)" } else { "" };
        let each = float(*total) / count;
        line(page, format_args!("| {} {}{failed}{apart} | {each:.3} |", request.verb, request.resource));
    }
    for (operation, calls) in &figures.cloud {
        line(page, format_args!("| cloud: {operation} | {:.3} |", float(*calls) / count));
    }
}

fn render_troubled(page: &mut String, troubled: &[Troubled]) {
    heading(
        page,
        "Clouds in trouble",
        "Exactly one VM for each Machine is the aim, whatever the cloud does.",
    );
    line(page, format_args!("| cloud | Machines | VMs created | duplicates | until all are Running |"));
    line(page, format_args!("| --- | --- | --- | --- | --- |"));
    for Troubled { what, machines, wall, vms, duplicates } in troubled {
        line(page, format_args!("| {what} | {machines} | {vms} | {duplicates} | {:.2} s |", secs(*wall)));
    }
}

fn micros(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e6)
}

fn secs(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

fn count(machines: usize) -> f64 {
    float(u64::try_from(machines).unwrap_or(u64::MAX))
}

fn megabytes(bytes: u64) -> f64 {
    float(bytes) / 1e6
}
