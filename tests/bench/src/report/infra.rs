//! MachinistMachines from create to provisioned, and a host that is idle.

use super::{Page, Report, per_machine, seconds, secs, spread};
use crate::infra::InfraFigures;

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
