//! The part about MachineDeployments.

use super::{count, float, heading, megabytes, row, secs, spread, table, verdict};
use crate::Figures;
use crate::deployments::{Effort, Growth, Many, OF_EACH, Rolling, ScaleDown, Size};
use crate::machines::Baseline;

/// Aims of the figures.
const WALL_RATIO: f64 = 2.0;
const WRITES: f64 = 7.0;
const SLOPE: f64 = 1.1;
const PEAK_MB: f64 = 200.0;
const ROLLING_REQUESTS: f64 = 30.0;
/// Of the cloud's own time and of the plain client's, one after the other.
const ROLLING_RATIO: f64 = 2.0;
const BEYOND_CLOUD_SECS: f64 = 2.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    if let Some(growth) = &figures.deployment {
        render_growth(page, growth);
    }
    for rolling in &figures.rolling {
        render_rolling(page, rolling);
    }
    if let Some(scale_down) = &figures.scale_down {
        render_scale_down(page, scale_down);
    }
    if let Some(many) = &figures.many {
        render_many(page, many);
    }
}

fn render_growth(page: &mut String, growth: &Growth) {
    heading(
        page,
        "One MachineDeployment from create to all Running",
        "Each size on a control plane of its own; the cloud answers a create after 20 ms and boots in 500 ms. A watch sees each \
         Machine at each moment. The plain client creates as many Machines and makes the host's writes of the same kinds, many \
         Machines at once, and neither reads nor watches: it is the server's limit. The server is busy for as many cores as its \
         process has processor time a second.",
    );
    for size in &growth.sizes {
        table(page, &[&format!("{} Machines", size.machines), "figure", "aim"]);
        render_size(page, size);
        super::line(page, format_args!(""));
    }
    if let Some(slope) = growth.slope() {
        let met = verdict(slope <= SLOPE);
        super::line(
            page,
            format_args!("Slope of log time over log number: **{slope:.2}**, at most {SLOPE}: {met}."),
        );
    }
    if let Some(largest) = growth.sizes.last() {
        heading(page, &format!("Requests a Machine, of {} by one MachineDeployment", largest.machines), "");
        super::requests(page, &largest.effort.requests, largest.machines);
    }
}

fn render_size(page: &mut String, Size { machines, effort, each, baseline }: &Size) {
    let (wall, plain) = (secs(effort.wall), secs(baseline.wall));
    row(page, "create until all are Running", format!("{:.2} s", secs(effort.wall)), None);
    render_limit(page, effort, baseline);
    row(page, "from an object to Running, median / p99 / longest", spread(each), None);
    row(
        page,
        "cores that the API server keeps busy",
        format!(
            "{:.2}; plain client: {:.2}",
            secs(effort.cpu.api_server) / wall,
            secs(baseline.api_server_cpu) / plain
        ),
        None,
    );
    render_counts(page, effort, *machines);
    row(
        page,
        "most objects at any moment",
        effort.stretch.most,
        Some((count(*machines), count(effort.stretch.most))),
    );
    let peak = megabytes(effort.peak_bytes);
    let memory =
        format!("**{peak:.1} MB** ({:.1} MB before the first of them)", megabytes(effort.idle_bytes));
    row(page, "peak memory of the host", memory, Some((PEAK_MB, peak)));
}

/// What the host took against what all its writes need at the plain client's pace.
fn render_limit(page: &mut String, effort: &Effort, baseline: &Baseline) {
    let plain = secs(baseline.wall);
    row(page, "plain client", format!("{plain:.2} s for {} writes", baseline.writes), None);
    let writes = effort.requests.writes();
    let limit = plain * float(writes) / float(baseline.writes);
    row(page, "the host's own writes at that pace", format!("{limit:.2} s for {writes} writes"), None);
    let ratio = secs(effort.wall) / limit;
    row(page, "ratio", format!("**{ratio:.2}**"), Some((WALL_RATIO, ratio)));
}

fn render_counts(page: &mut String, effort: &Effort, machines: usize) {
    let owners = effort.requests.writes_of_owners();
    let writes = float(effort.requests.writes() - owners) / count(machines);
    row(
        page,
        "writes of the host for a Machine, with its creation",
        format!("**{writes:.2}**"),
        Some((WRITES, writes)),
    );
    row(
        page,
        "writes to sets and deployments, a Machine",
        format!("{:.2}", float(owners) / count(machines)),
        None,
    );
    let requests = float(effort.requests.total()) / count(machines);
    row(page, "requests of the host a Machine", format!("{requests:.2}"), None);
    let calls = float(effort.cloud.values().sum()) / count(machines);
    row(page, "cloud calls a Machine", format!("{calls:.2}"), None);
    row(page, "duplicate VMs", effort.duplicates, Some((0.0, float(effort.duplicates))));
    render_processors(page, effort);
}

fn render_processors(page: &mut String, effort: &Effort) {
    let cpu = &effort.cpu;
    row(
        page,
        "CPU of the host; of API server and etcd",
        format!("{:.2} s; {:.2} s and {:.2} s", secs(cpu.host), secs(cpu.api_server), secs(cpu.etcd)),
        None,
    );
    row(page, "cores busy with something else", format!("{:.2}", cpu.others), None);
}

fn render_rolling(page: &mut String, rolling: &Rolling) {
    let Rolling { machines, surge, bounds, effort, cloud, baseline } = rolling;
    heading(
        page,
        &format!("A rolling update of {machines} Machines, {surge} beyond at a time"),
        "To another class, with maxUnavailable 0. The cloud alone needs for each round as long as it takes to make a VM, to boot it and to end \
         an old one; the plain client needs for as many writes as long as the server takes for them.",
    );
    table(page, &["what", "figure", "aim"]);
    let (wall, cloud, plain) = (secs(effort.wall), secs(*cloud), secs(baseline.wall));
    row(page, "change of the class until all are replaced", format!("{wall:.2} s"), None);
    row(page, "the cloud alone; plain client", format!("{cloud:.2} s; {plain:.2} s"), None);
    let ratio = wall / (cloud + plain);
    row(page, "ratio to both", format!("**{ratio:.2}**"), Some((ROLLING_RATIO, ratio)));
    let requests = float(effort.requests.total()) / count(*machines);
    row(
        page,
        "requests of the host a Machine",
        format!("**{requests:.2}**"),
        Some((ROLLING_REQUESTS, requests)),
    );
    let most = effort.stretch.most;
    row(page, "most objects at any moment", most, Some((count(bounds.most), count(most))));
    let fewest = effort.stretch.fewest_available;
    let met = verdict(effort.stretch.keeps_to(*bounds).is_ok());
    let what = format!("at least {}: {met}", bounds.fewest_available);
    super::line(page, format_args!("| fewest available at any moment | {fewest} | {what} |"));
    render_processors(page, effort);
    heading(page, &format!("Requests a Machine of the rolling update of {machines}"), "");
    super::requests(page, &effort.requests, *machines);
}

fn render_scale_down(page: &mut String, figures: &ScaleDown) {
    let ScaleDown { machines, one, cloud, effort, vms, baseline } = figures;
    heading(
        page,
        &format!("A scale-down, one by one and {machines} to none"),
        "Machines without pods, older than the consistency window of their driver. The plain client makes as many writes of the same kinds, and waits \
         for no VM.",
    );
    table(page, &["what", "figure", "aim"]);
    row(page, "one less until it is gone, median / p99 / longest", spread(one), None);
    let beyond = secs(one.p99().saturating_sub(*cloud));
    row(
        page,
        "of this beyond the cloud's own time, p99",
        format!("**{beyond:.2} s**"),
        Some((BEYOND_CLOUD_SECS, beyond)),
    );
    let (wall, plain) = (secs(effort.wall), secs(baseline.wall));
    row(page, &format!("{machines} to none until all VMs are gone"), format!("{:.2} s", secs(*vms)), None);
    row(page, "plain client", format!("{plain:.2} s for {} writes", baseline.writes), None);
    row(page, "ratio", format!("**{:.2}**", wall / plain), None);
    let writes = float(effort.requests.writes()) / count(*machines);
    row(page, "writes of the host a Machine", format!("{writes:.2}"), None);
    render_processors(page, effort);
    heading(page, "Requests a Machine of the scale-down", "");
    super::requests(page, &effort.requests, *machines);
}

fn render_many(page: &mut String, Many { deployments, machines, effort, baseline }: &Many) {
    heading(
        page,
        &format!("{deployments} MachineDeployments of {OF_EACH} from create to all Running"),
        "Created at the same time. Otherwise as one of the same number.",
    );
    table(page, &["what", "figure", "aim"]);
    row(page, "create until all are Running", format!("{:.2} s", secs(effort.wall)), None);
    render_limit(page, effort, baseline);
    render_counts(page, effort, *machines);
    let most = effort.stretch.most_of_one;
    row(page, "most Machines of one at any moment", most, Some((f64::from(OF_EACH), count(most))));
    row(page, "peak memory of the host", format!("{:.1} MB", megabytes(effort.peak_bytes)), None);
    heading(page, &format!("Requests a Machine of {deployments} MachineDeployments"), "");
    super::requests(page, &effort.requests, *machines);
}
