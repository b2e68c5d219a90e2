//! The checks, by group.
//!
//! | module | what it checks |
//! | --- | --- |
//! | `describe` | the driver's description of itself |
//! | `class` | classes are checked before the cloud gets a request |
//! | `create` | one machine gets one VM |
//! | `duplicates` | two VMs of one machine, as a double create of another program leaves them |
//! | `status` | the state of a machine, and machines that do not exist |
//! | `delete` | a deletion removes the machine's VM, and nobody else's |
//! | `list` | all of the cluster's machines, each once, and nobody else's |
//! | `optional` | optional functions of a driver |
//! | `of_cluster_api` | functions for Cluster API: ids of Nodes, failure domains, interruptions, resources |
//! | `cloud_trouble` | clouds that lag, refuse, throttle, or lose answers |
//! | `deadline` | calls of a driver whose cloud hangs |
//! | `clock` | a host whose clock is off |
//! | `host` | the hosts that requests of a driver reach |
//! | `secrets` | values that must stay secret |

mod class;
mod clock;
pub(crate) mod cloud_trouble;
mod create;
mod deadline;
mod delete;
mod describe;
mod duplicates;
mod host;
mod list;
mod of_cluster_api;
mod optional;
mod secrets;
mod status;

use futures::future::BoxFuture;

use crate::case::{Case, Outcome};
use crate::stage::StageKind;

/// One thing that every driver does right.
pub(crate) struct Check {
    /// Its group and its name in that: `create/one`.
    pub(crate) id: &'static str,
    /// A sentence that is true of every driver that passes.
    pub(crate) promise: &'static str,
    pub(crate) kind: StageKind,
    /// It cannot run without a cloud.
    pub(crate) needs_cloud: bool,
    pub(crate) run: fn(Case) -> BoxFuture<'static, Outcome>,
}

/// The checks of a group, one a row: id, kind of stage, `cloud` or `offline`, function, promise.
macro_rules! checks {
    ($($id:literal $kind:ident $needs:ident $run:ident $promise:literal;)*) => {
        pub(crate) fn checks() -> Vec<$crate::checks::Check> {
            vec![$($crate::checks::Check {
                id: $id,
                promise: $promise,
                kind: $crate::stage::StageKind::$kind,
                needs_cloud: $crate::checks::checks!(@ $needs),
                run: |case| Box::pin($run(case)),
            }),*]
        }
    };
    (@ cloud) => { true };
    (@ offline) => { false };
}
pub(crate) use checks;

impl Check {
    pub(crate) fn group(&self) -> &'static str {
        self.id.split_once('/').map_or(self.id, |(group, _)| group)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.id.split_once('/').map_or(self.id, |(_, name)| name)
    }
}

/// All of them, in the order of the report.
pub(crate) fn all() -> Vec<Check> {
    let groups: [fn() -> Vec<Check>; 19] = [
        describe::checks,
        class::checks,
        create::checks,
        status::checks,
        delete::checks,
        list::checks,
        duplicates::checks,
        optional::checks,
        of_cluster_api::checks,
        cloud_trouble::lost::checks,
        cloud_trouble::throttle::checks,
        cloud_trouble::outage::checks,
        cloud_trouble::malformed::checks,
        cloud_trouble::lag::checks,
        deadline::checks,
        cloud_trouble::refusal::checks,
        clock::checks,
        host::checks,
        secrets::checks,
    ];
    groups.iter().flat_map(|checks| checks()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;

    #[test]
    fn checks_have_names_of_their_own() {
        let ids: Vec<&str> = all().iter().map(|check| check.id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(ids.len() >= 45, "{}", ids.len());
    }
}
