//! The checks, by group.

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
mod optional;
mod secrets;
mod status;

use futures::future::BoxFuture;

use crate::case::{Case, Outcome};
use crate::stage::StageKind;

/// One thing that every driver does right.
pub(crate) struct Check {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    /// A sentence that is true of every driver that passes.
    pub(crate) promise: &'static str,
    pub(crate) kind: StageKind,
    /// It cannot run without a cloud.
    pub(crate) needs_cloud: bool,
    pub(crate) run: fn(Case) -> BoxFuture<'static, Outcome>,
}

/// `check!(GROUP, NAME, KIND, CLOUD or "offline", FUNCTION, PROMISE)`
macro_rules! check {
    ($group:literal, $name:literal, $kind:ident, $needs_cloud:literal, $run:path, $promise:literal) => {
        $crate::checks::Check {
            group: $group,
            name: $name,
            promise: $promise,
            kind: $crate::stage::StageKind::$kind,
            needs_cloud: $needs_cloud,
            run: |case| Box::pin($run(case)),
        }
    };
}
pub(crate) use check;

impl Check {
    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}

/// All of them, in the order of the report.
pub(crate) fn all() -> Vec<Check> {
    let groups: [fn() -> Vec<Check>; 18] = [
        describe::checks,
        class::checks,
        create::checks,
        status::checks,
        delete::checks,
        list::checks,
        duplicates::checks,
        optional::checks,
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
        let ids: Vec<String> = all().iter().map(super::Check::id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(ids.len() >= 45, "{}", ids.len());
    }
}
