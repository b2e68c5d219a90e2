//! The instances of a cluster, page by page.

use machinist_sdk::driver::{self as wit, Code, Failure};

use crate::gce::answer::Instance;
use crate::instance::machine::{Machines, Outcome};
use crate::instance::map;
use crate::instance::marks::ClusterMarks;

/// Page tokens of a listing begin with the part to which they belong: first instances with the cluster's mark, then all
/// others, of which those with the tags count by which the cluster adopts. Google cannot filter by tags.
const MARKED: &str = "m:";
const OTHERS: &str = "o:";

impl Machines<'_> {
    /// Returns one page of the cluster's instances in all zones of the project, and of those that it adopts.
    pub(crate) fn list(&self, cluster: &str, token: Option<&str>) -> Outcome<wit::Page> {
        let marks = ClusterMarks::new(cluster, self.adopted);
        match token.map(|token| (token.strip_prefix(MARKED), token.strip_prefix(OTHERS))) {
            None => self.marked(&marks, None),
            Some((Some(token), _)) => self.marked(&marks, Some(token)),
            Some((None, Some(token))) => self.others(&marks, Some(token).filter(|token| !token.is_empty())),
            Some((None, None)) => Err(Failure::new(
                Code::InvalidArgument,
                "failed to list instances: the page token is not one of this driver's",
            )),
        }
    }

    fn marked(&self, marks: &ClusterMarks<'_>, token: Option<&str>) -> Outcome<wit::Page> {
        let page = self.gce.instances(&marks.filter(), token)?;
        let machines = self.listed(&page.entries, |instance| marks.are_on(instance));
        let next = page.next.map(|next| format!("{MARKED}{next}"));
        Ok(wit::Page { machines, next: next.or(marks.adopted.map(|_| OTHERS.to_owned())) })
    }

    fn others(&self, marks: &ClusterMarks<'_>, token: Option<&str>) -> Outcome<wit::Page> {
        // The settings may have changed between two pages.
        if marks.adopted.is_none() {
            return Ok(wit::Page { machines: Vec::new(), next: None });
        }
        let page = self.gce.instances("", token)?;
        let machines = self.listed(&page.entries, |instance| marks.adopt(instance));
        Ok(wit::Page { machines, next: page.next.map(|next| format!("{OTHERS}{next}")) })
    }

    /// Converts a page. Google filters; an instance that passes wrongly is still not ours.
    fn listed(&self, instances: &[Instance], are_on: impl Fn(&Instance) -> bool) -> Vec<wit::Listed> {
        let ours = instances.iter().filter(|instance| are_on(instance));
        ours.map(|instance| map::listed(instance, &self.gce.project)).collect()
    }
}
