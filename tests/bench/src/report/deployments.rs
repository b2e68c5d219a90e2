//! MachineDeployments: growth, rollouts, scale-downs, and many of them.

use super::machines::write_processors;
use super::page::{met, none};
use super::{Page, Report, count, float, megabytes, per_machine, seconds, secs, spread};
use crate::deployments::{Cost, Growth, Many, OF_EACH, Rolling, ScaleDown, Size};
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

impl Report for Growth {
    fn write(&self, page: &mut Page) {
        page.section(
            "One MachineDeployment from create to all Running",
            "Each size on a control plane of its own; the cloud answers a create after 20 ms and boots in 500 ms. A watch sees each \
             Machine at each moment. The plain client creates as many Machines and makes the host's writes of the same kinds, many \
             Machines at once, and neither reads nor watches: it is the server's limit. The server is busy for as many cores as its \
             process has processor time a second.",
        );
        for size in &self.sizes {
            page.table(&[&format!("{} Machines", size.machines), "figure", "aim"]);
            write_size(page, size);
            page.line("");
        }
        if let Some(slope) = self.slope() {
            let met = met(slope <= SLOPE);
            page.line(format_args!(
                "Slope of log time over log number: **{slope:.2}**, at most {SLOPE}: {met}."
            ));
        }
        if let Some(largest) = self.sizes.last() {
            let machines = largest.machines;
            page.section(format_args!("Requests a Machine, of {machines} by one MachineDeployment"), "");
            page.requests(&largest.cost.requests, machines);
        }
    }
}

fn write_size(page: &mut Page, Size { machines, cost, each, baseline }: &Size) {
    page.figure("create until all are Running", seconds(cost.wall));
    write_limit(page, cost, baseline);
    page.figure("from an object to Running, median / p99 / longest", spread(each));
    let busy = secs(cost.cpu.api_server) / secs(cost.wall);
    let plain = secs(baseline.api_server_cpu) / secs(baseline.wall);
    page.figure("cores that the API server keeps busy", format_args!("{busy:.2}; plain client: {plain:.2}"));
    write_counts(page, cost, *machines);
    let most = cost.stretch.most;
    page.at_most("most objects at any moment", most, (count(*machines), count(most)));
    let (idle, peak) = (megabytes(cost.idle_bytes), megabytes(cost.peak_bytes));
    let memory = format!("**{peak:.1} MB** ({idle:.1} MB before the first of them)");
    page.at_most("peak memory of the host", memory, (PEAK_MB, peak));
}

/// The time of the host against that of all its writes at the plain client's pace.
fn write_limit(page: &mut Page, cost: &Cost, baseline: &Baseline) {
    let plain = secs(baseline.wall);
    page.figure("plain client", format_args!("{plain:.2} s for {} writes", baseline.writes));
    let writes = cost.requests.writes();
    let limit = plain * float(writes) / float(baseline.writes);
    page.figure("the host's own writes at that pace", format_args!("{limit:.2} s for {writes} writes"));
    page.ratio("ratio", WALL_RATIO, secs(cost.wall) / limit);
}

fn write_counts(page: &mut Page, cost: &Cost, machines: usize) {
    let requests = &cost.requests;
    let owners = requests.writes_of_owners();
    page.ratio(
        "writes of the host for a Machine, with its creation",
        WRITES,
        per_machine(requests.writes() - owners, machines),
    );
    for (what, total) in [
        ("writes to sets and deployments, a Machine", owners),
        ("requests of the host a Machine", requests.total()),
        ("cloud calls a Machine", cost.cloud.values().sum()),
    ] {
        page.figure(what, format_args!("{:.2}", per_machine(total, machines)));
    }
    page.at_most("duplicate VMs", cost.duplicates, none(cost.duplicates));
    write_processors(page, &cost.cpu);
}

impl Report for Rolling {
    fn write(&self, page: &mut Page) {
        let Self { machines, surge, bounds, cost, cloud, baseline } = self;
        page.section(
            format_args!("A rolling update of {machines} Machines, {surge} beyond at a time"),
            "To another class, with maxUnavailable 0. The cloud alone needs for each round as long as it takes to make a VM, to boot it and to end \
             an old one; the plain client needs for as many writes as long as the server takes for them.",
        );
        page.figures();
        page.figure("change of the class until all are replaced", seconds(cost.wall));
        page.figure(
            "the cloud alone; plain client",
            format_args!("{}; {}", seconds(*cloud), seconds(baseline.wall)),
        );
        page.ratio("ratio to both", ROLLING_RATIO, secs(cost.wall) / (secs(*cloud) + secs(baseline.wall)));
        page.ratio(
            "requests of the host a Machine",
            ROLLING_REQUESTS,
            per_machine(cost.requests.total(), *machines),
        );
        let most = cost.stretch.most;
        page.at_most("most objects at any moment", most, (count(bounds.most), count(most)));
        let met = met(cost.stretch.keeps_to(*bounds).is_ok());
        let aim = format!("at least {}: {met}", bounds.fewest_available);
        page.row(&[&"fewest available at any moment", &cost.stretch.fewest_available, &aim]);
        write_processors(page, &cost.cpu);
        page.section(format_args!("Requests a Machine of the rolling update of {machines}"), "");
        page.requests(&cost.requests, *machines);
    }
}

impl Report for ScaleDown {
    fn write(&self, page: &mut Page) {
        let Self { machines, one, cloud, cost, vms, baseline } = self;
        page.section(
            format_args!("A scale-down, one by one and {machines} to none"),
            "Machines without pods, older than the consistency window of their driver. The plain client makes as many writes of the same kinds, and waits \
             for no VM.",
        );
        page.figures();
        page.figure("one less until it is gone, median / p99 / longest", spread(one));
        let beyond = secs(one.p99().saturating_sub(*cloud));
        page.at_most(
            "of this beyond the cloud's own time, p99",
            format_args!("**{beyond:.2} s**"),
            (BEYOND_CLOUD_SECS, beyond),
        );
        page.figure(format_args!("{machines} to none until all VMs are gone"), seconds(*vms));
        let plain = secs(baseline.wall);
        page.figure("plain client", format_args!("{plain:.2} s for {} writes", baseline.writes));
        page.figure("ratio", format_args!("**{:.2}**", secs(cost.wall) / plain));
        let writes = per_machine(cost.requests.writes(), *machines);
        page.figure("writes of the host a Machine", format_args!("{writes:.2}"));
        write_processors(page, &cost.cpu);
        page.section("Requests a Machine of the scale-down", "");
        page.requests(&cost.requests, *machines);
    }
}

impl Report for Many {
    fn write(&self, page: &mut Page) {
        let Self { deployments, machines, cost, baseline } = self;
        page.section(
            format_args!("{deployments} MachineDeployments of {OF_EACH} from create to all Running"),
            "Created at the same time. Otherwise as one of the same number.",
        );
        page.figures();
        page.figure("create until all are Running", seconds(cost.wall));
        write_limit(page, cost, baseline);
        write_counts(page, cost, *machines);
        let most = cost.stretch.most_of_one;
        page.at_most("most Machines of one at any moment", most, (f64::from(OF_EACH), count(most)));
        page.figure("peak memory of the host", format_args!("{:.1} MB", megabytes(cost.peak_bytes)));
        page.section(format_args!("Requests a Machine of {deployments} MachineDeployments"), "");
        page.requests(&cost.requests, *machines);
    }
}
