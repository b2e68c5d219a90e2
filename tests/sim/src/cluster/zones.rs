//! Zones that are cut off: their VMs live, and nobody hears of their kubelets.

use std::time::Duration;

use super::{Cluster, Due, SILENCE};

impl Cluster {
    /// No kubelet of this zone is heard for so long.
    pub(crate) fn cut_zone(&self, zone: &str, lasts: Duration) {
        self.lock().dark_zones.insert(zone.to_owned());
        for vm in self.vms_of(zone) {
            self.tell_truth(&vm);
            self.later(SILENCE, Due::Silence(vm));
        }
        self.later(lasts, Due::ZoneBack(zone.to_owned()));
    }

    pub(super) fn zone_back(&self, zone: &str) {
        if !self.lock().dark_zones.remove(zone) {
            return;
        }
        self.log(("zone is back:", zone));
        for vm in self.vms_of(zone) {
            self.tell_truth(&vm);
            let after = self.between(1, 20);
            self.later(after, Due::Silence(vm));
        }
    }

    pub(super) fn is_cut_off(&self, zone: &str) -> bool {
        self.lock().dark_zones.contains(zone)
    }

    fn vms_of(&self, zone: &str) -> Vec<String> {
        let state = self.lock();
        let kubelets = state.kubelets.iter().filter(|(_, kubelet)| kubelet.zone == zone);
        kubelets.map(|(vm, _)| vm.clone()).collect()
    }
}
