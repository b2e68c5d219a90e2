//! Decides which Machines may store the cluster's mark: those whose VM was just listed with it.
//!
//! Drivers list VMs with the mark of the process, and VMs that an operator lets it adopt. So a listed VM with a uid
//! proves the mark of its Machine, and of the class through which it was listed. One that is not marked yet proves
//! nothing, and neither does a Machine that was restored from before marks were stored.

use crate::driver::Listed;
use crate::value::id::Name;

/// The stored VM and mark of a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredMark<'a> {
    /// Its stored provider id.
    pub provider_id: Option<&'a str>,
    /// It has stored any mark.
    pub has_mark: bool,
}

/// Proof from a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkProof {
    /// Machines without a mark whose VM has that of the process, in the order of the listing.
    pub machines: Vec<Name>,
    /// The VM of one of our Machines is listed, so that the class is used under this mark.
    pub is_class_proven: bool,
}

/// Returns the proof of a trusted listing.
pub fn proof<'a>(vms: &[Listed], machine: impl Fn(&Name) -> Option<StoredMark<'a>>) -> MarkProof {
    let mut proof = MarkProof::default();
    for vm in vms.iter().filter(|vm| vm.machine_uid.is_some()) {
        let stored = machine(&vm.machine_name);
        let Some(stored) = stored.filter(|own| own.provider_id == Some(vm.provider_id.as_str())) else {
            continue;
        };
        proof.is_class_proven = true;
        if !stored.has_mark {
            proof.machines.push(vm.machine_name.clone());
        }
    }
    proof
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(id: &str, machine: &str) -> Listed {
        let machine_uid = Some("uid-of-whichever-life".into());
        Listed { provider_id: id.into(), machine_name: machine.into(), machine_uid, created_at: None }
    }

    #[test]
    fn a_listed_vm_proves_the_mark_of_the_machine_that_has_stored_it_and_of_no_other() {
        let machine = |name: &Name| match name.as_str() {
            "a" => Some(StoredMark { provider_id: Some("sim://1"), has_mark: false }),
            "b" => Some(StoredMark { provider_id: Some("sim://2"), has_mark: true }),
            "c" => Some(StoredMark { provider_id: Some("sim://other"), has_mark: false }),
            "d" => Some(StoredMark { provider_id: None, has_mark: false }),
            _ => None,
        };
        let all = [vm("sim://1", "a"), vm("sim://2", "b"), vm("sim://3", "c"), vm("sim://4", "d")];
        let proven = proof(&all, machine);
        assert_eq!(proven, MarkProof { machines: vec!["a".into()], is_class_proven: true });
        assert_eq!(proof(&all[2..], machine), MarkProof::default());
        assert_eq!(proof(&[vm("sim://9", "gone")], machine), MarkProof::default());
        let unmarked = Listed { machine_uid: None, ..vm("sim://1", "a") };
        assert_eq!(proof(&[unmarked], machine), MarkProof::default());
    }
}
