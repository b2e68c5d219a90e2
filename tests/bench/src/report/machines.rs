//! Machines from create to Running, on EC2 too, deletions, drains, a host that is idle, and a week in the simulator.

use super::page::none;
use super::{Page, Report, float, megabytes, millis, per_machine, seconds, secs, spread};
use crate::drains::deletions::DeletionFigures;
use crate::drains::{DrainFigures, EXIT, Flight, PODS};
use crate::idle::IdleFigures;
use crate::machines::ec2::Ec2Figures;
use crate::machines::{Cpu, MachineFigures, Troubled};
use crate::week::Week;

const CREATION_RATIO: f64 = 3.0;
const CREATION_WRITES: f64 = 7.0;
const CREATION_REQUESTS: f64 = 10.0;
const CREATION_CLOUD_CALLS: f64 = 3.0;
const CREATION_PEAK_MB: f64 = 80.0;
/// Aims of deletions, with pods and without.
const DELETION_RATIO: f64 = 3.0;
const DELETION_WRITES: f64 = 8.0;
const DELETION_BEYOND_CLOUD_SECS: f64 = 2.0;
/// While drains wait: a few hundred megabytes, and other Machines are hardly slower.
const FLIGHT_PEAK_MB: f64 = 300.0;
const FLIGHT_LIFE_RATIO: f64 = 2.0;
/// Aims of a host that has nothing to do: its CPU is near zero.
const IDLE_REQUESTS_A_SECOND: f64 = 1.0;
const IDLE_CPU_PERCENT: f64 = 1.0;
/// The most that a week in the simulator may take.
const WEEK_SECS: f64 = 600.0;

impl Report for MachineFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            format_args!("{} Machines from create to Running", self.machines),
            format_args!(
                "Real etcd and kube-apiserver ({}) without kube-controller-manager; the cloud answers a create after 20 ms and boots in \
                 500 ms; kubelets join with the token out of their user data; the host runs under its least-privilege account. \
                 {} Machines are created at the same time. The plain client creates as many Machines and makes the host's \
                 writes of the same kinds, one Machine's in sequence, {} Machines at once, and neither reads nor watches; the host \
                 is stopped meanwhile.",
                self.api_server, self.baseline.concurrency, self.baseline.concurrency,
            ),
        );
        page.figures();
        let (wall, plain) = (secs(self.wall), secs(self.baseline.wall));
        page.figure("create until all are Running", seconds(self.wall));
        page.figure("plain client", format_args!("{plain:.2} s for {} writes", self.baseline.writes));
        page.ratio("ratio", CREATION_RATIO, wall / plain);
        page.figure("one Machine, median / p99 / longest", spread(&self.each));
        for (what, total, aim) in [
            ("writes of the host a Machine", self.requests.writes(), CREATION_WRITES),
            ("requests of the host a Machine", self.requests.total(), CREATION_REQUESTS),
            ("cloud calls a Machine", self.cloud_calls(), CREATION_CLOUD_CALLS),
        ] {
            page.ratio(what, aim, per_machine(total, self.machines));
        }
        page.at_most("duplicate VMs", self.duplicates, none(self.duplicates));
        let (idle, peak) = (megabytes(self.idle_bytes), megabytes(self.peak_bytes));
        let memory = format!("**{peak:.1} MB** ({idle:.1} MB before the first of them)");
        page.at_most("peak memory of the host", memory, (CREATION_PEAK_MB, peak));
        self.write_processors(page);
        page.section(
            "Requests a Machine",
            "By the host's own counters, until it has nothing more to ask. Events, Leases and watches are not part of the sums \
             above.",
        );
        page.requests(&self.requests, self.machines);
        for (operation, calls) in &self.cloud {
            page.per_machine(&format!("cloud: {operation}"), *calls, self.machines);
        }
        write_troubled(page, &self.troubled);
    }
}

impl MachineFigures {
    fn write_processors(&self, page: &mut Page) {
        let (cpu, plain) = (&self.cpu, &self.baseline);
        page.figure("CPU of the host", seconds(cpu.host));
        let (api_server, etcd, by_plain) =
            (seconds(cpu.api_server), seconds(cpu.etcd), seconds(plain.api_server_cpu));
        let servers = format!("{api_server} and {etcd}; plain client: {by_plain} for the API server");
        page.figure("CPU of API server and etcd", servers);
        let (bench, client) = (seconds(cpu.bench), seconds(plain.client_cpu));
        let others = format!("{bench}; plain client: {client} for client, cloud and kubelets");
        page.figure("CPU of cloud, kubelets and whoever creates and watches", others);
        let busy = format!("{:.2}; plain client: {:.2} (with etcd)", cpu.others, plain.others);
        page.figure("cores busy with something else", busy);
    }
}

fn write_troubled(page: &mut Page, troubled: &[Troubled]) {
    page.section("Clouds in trouble", "Exactly one VM for each Machine is the aim, whatever the cloud does.");
    page.table(&["cloud", "Machines", "VMs created", "duplicates", "until all are Running"]);
    for Troubled { what, machines, wall, vms, duplicates } in troubled {
        page.row(&[what, machines, vms, duplicates, &seconds(*wall)]);
    }
}

/// Rows about the processors of those who take part.
pub(super) fn write_processors(page: &mut Page, cpu: &Cpu) {
    let (host, api_server, etcd) = (seconds(cpu.host), seconds(cpu.api_server), seconds(cpu.etcd));
    page.figure("CPU of the host; of API server and etcd", format_args!("{host}; {api_server} and {etcd}"));
    page.figure("cores busy with something else", format_args!("{:.2}", cpu.others));
}

impl Report for DeletionFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            "Machines without pods, from delete to gone",
            format_args!(
                "Real etcd and kube-apiserver. The cloud takes {:.1} s from the order until a VM is gone: that is its own time. Times are \
                 those of one Machine after the other, each older than the driver's consistency window; writes are those of {} Machines at once, Events, Leases and evictions apart.",
                secs(self.cloud),
                self.machines,
            ),
        );
        page.figures();
        page.figure("delete until gone, median / p99 / longest", spread(&self.gone));
        let beyond = secs(self.gone.p99().saturating_sub(self.cloud));
        page.at_most(
            "of this beyond the cloud's own time, p99",
            format_args!("**{beyond:.2} s**"),
            (DELETION_BEYOND_CLOUD_SECS, beyond),
        );
        for (what, requests, aim) in [
            ("writes of the host a Machine from create to Running", &self.creation, CREATION_WRITES),
            ("writes of the host a Machine from delete to gone", &self.deletion, DELETION_WRITES),
        ] {
            page.ratio(what, aim, per_machine(requests.writes_beside_evictions(), self.machines));
        }
        for (what, requests) in [("creation", &self.creation), ("deletion without pods", &self.deletion)] {
            page.section(format_args!("Requests of a {what}"), "By the host's own counters.");
            page.requests(requests, self.machines);
        }
    }
}

impl Report for DrainFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            format_args!("{} Machines with {PODS} pods each, from delete to gone", self.machines),
            format_args!(
                "Real etcd and kube-apiserver; kubelets end pods {:.1} s after they are asked to; all Machines are deleted at once. The plain \
                 client makes the host's writes of the same kinds, the evictions and the kubelets' removals, and waits for no pod and no VM; \
                 the host is stopped meanwhile.",
                secs(EXIT)
            ),
        );
        page.figures();
        let (wall, plain) = (secs(self.wall), secs(self.baseline.wall));
        page.figure("delete until all are gone", seconds(self.wall));
        page.figure("plain client", format_args!("{plain:.2} s for {} writes", self.baseline.writes));
        page.ratio("ratio", DELETION_RATIO, wall / plain);
        page.figure("one Machine, median / p99 / longest", spread(&self.each));
        let pods = format!("{} of {}", self.ended, self.machines * PODS);
        page.figure("pods that their kubelets have ended", pods);
        page.ratio(
            "writes of the host a Machine, evictions apart",
            DELETION_WRITES,
            per_machine(self.requests.writes_beside_evictions(), self.machines),
        );
        let (idle, peak) = (megabytes(self.idle_bytes), megabytes(self.peak_bytes));
        page.figure(
            "peak memory of the host",
            format_args!("**{peak:.1} MB** ({idle:.1} MB before the first deletion)"),
        );
        write_processors(page, &self.cpu);
        page.section("Requests of a deletion with pods", "By the host's own counters.");
        page.requests(&self.requests, self.machines);
        write_flight(page, &self.flight);
    }
}

fn write_flight(page: &mut Page, flight: &Flight) {
    page.section(
        format_args!("{} drains in flight", flight.drains),
        format_args!(
            "{PODS} pods a Machine that were asked to end and do not. Other Machines without pods live meanwhile, one after the other."
        ),
    );
    page.figures();
    let (before, peak) = (megabytes(flight.before_bytes), megabytes(flight.peak_bytes));
    page.at_most(
        "peak memory of the one process",
        format_args!("**{peak:.1} MB** ({before:.1} MB before the first deletion)"),
        (FLIGHT_PEAK_MB, peak),
    );
    page.figure("delete until all pods are asked to end", seconds(flight.asked));
    for (what, before, meanwhile) in [
        ("another Machine, create until Running", &flight.running_before, &flight.running_meanwhile),
        ("another Machine, delete until gone", &flight.gone_before, &flight.gone_meanwhile),
    ] {
        let figure = format!(
            "{} ms, {} ms without drains (medians; p99 {} ms and {} ms)",
            millis(meanwhile.median()),
            millis(before.median()),
            millis(meanwhile.p99()),
            millis(before.p99()),
        );
        page.figure(what, figure);
        page.ratio(
            "ratio of the medians",
            FLIGHT_LIFE_RATIO,
            secs(meanwhile.median()) / secs(before.median()),
        );
    }
    let requests = format!("{:.2}", flight.requests_a_second);
    page.figure("requests a second beside Leases, while nothing happens", requests);
    page.figure("CPU meanwhile", format_args!("{:.1} % of a core", flight.cpu_share * 100.0));
}

impl Report for IdleFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            format_args!("A host with {} Machines that run", self.machines),
            format_args!(
                "Nothing happens for {:.0} s but that kubelets report every five minutes.",
                secs(self.time)
            ),
        );
        page.figures();
        let requests = float(self.requests.total_beside_leases()) / secs(self.time);
        page.figure("requests in this time", &self.requests);
        page.at_most(
            "API requests a second beside its Leases",
            format_args!("**{requests:.3}**"),
            (IDLE_REQUESTS_A_SECOND, requests),
        );
        page.ratio("CPU, in percent of a core", IDLE_CPU_PERCENT, self.cpu_share * 100.0);
        let (all, private) = (megabytes(self.rss_bytes), megabytes(self.private_bytes));
        let before = megabytes(self.private_bytes_before);
        let memory =
            format!("{all:.1} MB, of which {private:.1} private ({before:.1} before the first Machine)");
        page.figure("memory of the host", memory);
    }
}

impl Report for Ec2Figures {
    fn write(&self, page: &mut Page) {
        page.section(
            format_args!("{} Machines on EC2, played by moto", self.machines),
            format_args!(
                "Real etcd and kube-apiserver; moto behind a proxy that verifies each signature; kubelets join with the token out of their \
                 user data. {} Machines are created at the same time. The plain client makes the same requests of EC2, signed, \
                 and as many writes of the same kinds, one Machine's in sequence, {} Machines at once; the host is stopped \
                 meanwhile.",
                self.baseline.concurrency, self.baseline.concurrency,
            ),
        );
        page.figures();
        let (wall, plain) = (secs(self.wall), secs(self.baseline.wall));
        page.figure("create until all are Running", seconds(self.wall));
        page.figure("plain client", format_args!("{plain:.2} s for {} writes", self.baseline.writes));
        page.figure("ratio", format_args!("**{:.2}**", wall / plain));
        page.figure("one Machine, median / p99 / longest", spread(&self.each));
        let each = |total: u64| format!("**{:.2}**", per_machine(total, self.machines));
        page.figure("requests of the host to Kubernetes a Machine", each(self.requests.total()));
        page.figure("requests of the driver to EC2 a Machine", each(self.cloud_requests()));
        page.figure("instances", self.created);
        page.at_most("duplicate instances", self.duplicates, none(self.duplicates));
        page.line("");
        page.table(&["request", "a Machine"]);
        for (action, total) in &self.actions {
            page.per_machine(action, *total, self.machines);
        }
    }
}

impl Report for Week {
    fn write(&self, page: &mut Page) {
        let long = &self.long;
        page.section(
            format_args!("A week of {} Machines in the simulator", long.machines),
            format_args!(
                "Not run whole: two runs of the same seed, of one and of some more hours with users, faults and outages, each with its calm in \
                 which everything must come to rest, on one thread. The longer one: {:.1} simulated hours, {} requests and calls of the \
                 hosts, {} VMs made.",
                long.simulated_hours, long.calls, long.vms,
            ),
        );
        page.figures();
        let seconds = |seconds: f64| format!("{seconds:.1} s");
        page.figure("processor time of the shorter run", seconds(self.short.processor_seconds));
        page.figure("processor time of the longer run", seconds(long.processor_seconds));
        page.figure("so an hour costs", format_args!("**{:.1} s**", self.an_hour()));
        let whole = self.whole();
        page.at_most("and a week, in seconds", format_args!("**{whole:.0}**"), (WEEK_SECS, whole));
        page.figure("machine-hours a second", format_args!("{:.0}", long.machine_hours / long.seconds));
        page.figure("memory", format_args!("{:.0} MB", long.most_megabytes));
        let faults: u64 = long.faults.values().sum();
        page.figure("faults", faults);
        page.figure("faults a machine-hour", format_args!("{:.3}", float(faults) / long.machine_hours));
        for (name, count) in &long.faults {
            page.figure(format_args!("fault: {name}"), count);
        }
    }
}
