//! MachinistMachines from create to provisioned, and a host that is idle.

use super::{Page, Report, megabytes, per_machine, seconds, secs, spread};
use crate::infra::InfraFigures;
use crate::infra::with_core::{CoreFigures, ManagerRequests};

const CREATION_RATIO: f64 = 1.5;
const CREATION_WRITES: f64 = 3.0;
const CREATION_REQUESTS: f64 = 4.0;
const CREATION_CLOUD_CALLS: f64 = 1.0;
const IDLE_REQUESTS_A_SECOND: f64 = 0.1;

impl Report for InfraFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            format_args!("{} MachinistMachines from create to provisioned", self.machines),
            "API server and cloud are in the process of the host, and a request takes 1 ms; the cloud answers a create after 20 ms \
             with a VM that runs. All are created at the same time, as Cluster API's core leaves them. The plain client \
             makes three writes for each of as many, waits for the same cloud, and neither reads nor watches.",
        );
        page.figures();
        let (wall, plain) = (secs(self.wall), secs(self.plain));
        page.figure("create until all are provisioned", seconds(self.wall));
        page.figure("plain client", format_args!("{plain:.2} s for {} writes", self.plain_writes));
        page.ratio("ratio", CREATION_RATIO, wall / plain);
        page.figure("one MachinistMachine, median / p99 / longest", spread(&self.each));
        for (what, total, aim) in [
            ("writes of the host a machine", self.writes, CREATION_WRITES),
            ("requests of the host a machine", self.requests, CREATION_REQUESTS),
            ("cloud calls a machine", self.cloud_calls, CREATION_CLOUD_CALLS),
        ] {
            page.ratio(what, aim, per_machine(total, self.machines));
        }
        let requests = self.idle_requests_a_second;
        page.at_most(
            format!(
                "API requests a second with {} of them, in {:.0} s without work",
                self.idle_machines,
                secs(self.idle_time)
            ),
            format_args!("**{requests:.3}**"),
            (IDLE_REQUESTS_A_SECOND, requests),
        );
    }
}

impl Report for CoreFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            format_args!("{} MachinistMachines with Cluster API's own core", self.machines),
            "One MachineDeployment grows by so many on a real API server, with core, kubeadm bootstrap provider, kubelets \
             and the simulated cloud, which answers a create after 20 ms with a VM that runs. The host's share of one begins \
             with the bootstrap data of its Machine and ends when it is provisioned. One of its writes says that a machine \
             waits for that data, which is there from the beginning in the part above. Requests of core and of the \
             bootstrap provider are what their own metrics count, watches and the workload cluster included.",
        );
        page.figures();
        page.figure("until all are provisioned", seconds(self.provisioned));
        page.figure("until core calls all Machines Running", seconds(self.running));
        page.figure("the host's share of one, median / p99 / longest", spread(&self.share));
        let (writes, requests) = (self.host.writes(), self.host.total());
        for (what, total) in [("writes", writes), ("requests", requests)] {
            let each = per_machine(total, self.machines);
            page.figure(format_args!("{what} of the host a machine"), format_args!("**{each:.2}**"));
        }
        for (who, ManagerRequests { writes, reads }) in [("core", self.core), ("kubeadm", self.kubeadm)] {
            let each = |all: f64| all / f64::from(u32::try_from(self.machines).unwrap_or(u32::MAX));
            let text = format!("{:.1} writes, {:.1} reads", each(writes), each(reads));
            page.figure(format_args!("requests of {who} a machine"), text);
        }
        let (idle, peak) = (megabytes(self.idle_bytes), megabytes(self.peak_bytes));
        let memory = format!("**{peak:.1} MB** ({idle:.1} MB before the first of them)");
        page.figure("peak memory of the host", memory);
        let requests = self.idle_requests_a_second;
        page.at_most(
            format!("API requests a second with all of them, in {:.0} s without work", secs(self.idle_time)),
            format_args!("**{requests:.3}**, those of Leases left out"),
            (IDLE_REQUESTS_A_SECOND, requests),
        );
    }
}
