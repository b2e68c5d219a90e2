//! The difference from the wish, and what is left in the cloud.

use simcloud::VmState;

use super::ClusterApi;
use super::objects::{
    CLUSTERS, INFRA_MACHINES, MACHINES, all_of, is_deleting, is_provisioned, key_of, name_of, ready,
};
use super::workload::{WorkloadCluster, WorkloadState};
use crate::names::{Site, UID_TAG, id_of, is_of_cluster_api, provider_id};

impl ClusterApi {
    /// Returns the difference from the wish; `None` when each MachinistMachine is provisioned with one VM, and no other
    /// VM is there.
    pub(crate) fn is_short_of(&self) -> Option<String> {
        let workloads = self.lock();
        let of_objects = workloads.iter().find_map(|workload| self.is_short(workload));
        drop(workloads);
        of_objects.or_else(|| self.left_over())
    }

    fn is_short(&self, workload: &WorkloadCluster) -> Option<String> {
        let name = &workload.name;
        if workload.state != WorkloadState::Applied {
            return Some(format!("Cluster {name} is {:?}", workload.state));
        }
        let api = self.api(workload.site);
        let (machines, infras) =
            (all_of(api, MACHINES, &workload.namespace), all_of(api, INFRA_MACHINES, &workload.namespace));
        if machines.len() != workload.wanted || infras.len() != workload.wanted {
            return Some(format!(
                "Cluster {name} has {} Machines and {} MachinistMachines, and wants {}",
                machines.len(),
                infras.len(),
                workload.wanted
            ));
        }
        let is_paused =
            api.find(CLUSTERS, &workload.path(name)).is_none_or(|cluster| cluster["spec"]["paused"] == true);
        if is_paused {
            return Some(format!("Cluster {name} is paused"));
        }
        let unfinished = infras
            .iter()
            .find(|infra| is_deleting(infra) || !is_provisioned(infra) || ready(infra).0 != "True");
        if let Some(infra) = unfinished {
            let conditions = &infra["status"]["conditions"];
            return Some(format!("MachinistMachine {} is not ready: {conditions}", name_of(infra)));
        }
        let unfinished = machines.iter().find(|machine| {
            let infra = infras.iter().find(|infra| name_of(infra) == name_of(machine));
            infra.is_none_or(|infra| infra["spec"]["providerID"] != machine["spec"]["providerID"])
        });
        unfinished.map(|machine| format!("Machine {} has not the id of its VM", name_of(machine)))
    }

    /// VMs of no MachinistMachine, and MachinistMachines without exactly one.
    pub(crate) fn left_over(&self) -> Option<String> {
        let stored: Vec<(String, String, String)> = Site::ALL
            .iter()
            .flat_map(|site| {
                self.api(*site).collect(INFRA_MACHINES, |infra| {
                    let text =
                        |pointer| infra.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default();
                    let id = text("/spec/providerID").to_owned();
                    Some((name_of(infra).to_owned(), key_of(infra).to_owned(), id))
                })
            })
            .collect();
        let vms = self.cloud.look(|vm| {
            let is_ours = vm.tags.get("cluster").is_some_and(|mark| is_of_cluster_api(mark));
            let key = vm.tags.get(UID_TAG).cloned().unwrap_or_default();
            (is_ours && vm.state != VmState::Terminated).then(|| (vm.id.clone(), vm.zone.clone(), key))
        });
        let has_owner = |(id, zone, _): &(String, String, String)| {
            stored.iter().any(|(_, _, stored)| *stored == provider_id(zone, id))
        };
        if let Some((id, _, key)) = vms.iter().find(|vm| !has_owner(vm)) {
            return Some(format!("VM {id} with key {key} is that of no MachinistMachine"));
        }
        let lacks = stored.iter().find(|(_, key, stored)| {
            let its: Vec<_> = vms.iter().filter(|(_, _, of)| of == key).collect();
            !matches!(its.as_slice(), [(id, _, _)] if id == id_of(stored))
        });
        lacks.map(|(name, key, _)| format!("MachinistMachine {name} with key {key} has not exactly one VM"))
    }

    /// Moves every workload cluster once more, without any fault, and waits until all of them are moved.
    pub(crate) async fn move_all(&self) {
        for number in 0..self.plan.clusters {
            let rng = crate::rng::Rng::new(self.seed, &format!("calm move {number}"));
            self.clone().move_cluster(number, rng).await;
        }
    }
}
