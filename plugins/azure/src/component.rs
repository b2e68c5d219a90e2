//! The calls of the host.

use machinist_sdk::driver::{
    About, Capabilities, Capacity, Class, Creation, DeleteById, Deletion, Driver, Failure, Host,
    Interruption, NodeId, NodeResources, OfflineHost, Page, Placement, Reboot, Request, Vm,
};

use crate::arm::settings::wished_hosts;
use crate::arm::{Arm, credentials};
use crate::class::{spec, volume, zone};
use crate::vm::machine::{Machines, Outcome};
use crate::vm::{adoption, map, resources};

const NAME: &str = "azure";
/// The provider in MachineClasses.
const PROVIDER: &str = "Azure";
/// How long after a change reads of Azure may not show it: another instance of its front end may answer from its cache.
/// Usually they show it at once; the rest is a margin.
const CONSISTENCY_WINDOW_MS: u64 = 30_000;

/// The version of the build, by default the crate's.
fn version() -> &'static str {
    option_env!("AZURE_DRIVER_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// The driver of Azure.
pub struct AzureDriver;

machinist_sdk::export_driver!(AzureDriver, reboot, delete_by_id, node_id, placement, interruption, capacity);

/// All capabilities of the contract. A VM's name is its key: Azure refuses a second VM of the name, whatever reads
/// show.
fn capabilities() -> Capabilities {
    Capabilities::STATUS
        | Capabilities::INITIALIZE
        | Capabilities::LISTING
        | Capabilities::VOLUME_IDS
        | Capabilities::IDEMPOTENCY_KEY
}

impl Driver for AzureDriver {
    fn describe(host: &dyn OfflineHost) -> About {
        About {
            name: NAME.to_owned(),
            version: version().to_owned(),
            providers: vec![PROVIDER.to_owned()],
            class_schema: Some(spec::SCHEMA.to_owned()),
            capabilities: capabilities(),
            consistency_window_ms: CONSISTENCY_WINDOW_MS,
            hosts: wished_hosts(&host.settings()),
        }
    }

    fn validate_class(class: &Class, _: &dyn OfflineHost) -> Result<Vec<String>, Failure> {
        let (_, mut warnings) = spec::read(class)?;
        warnings.extend(zone::never_tried(class));
        Ok(warnings)
    }

    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure> {
        let create = |machines: Machines<'_>| machines.create(request, &credentials::user_data(host)?);
        with_machines(host, &request.class, &request.cluster, create)
    }

    fn initialize(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        with_machines(host, &request.class, &request.cluster, |machines| machines.initialize(request))
    }

    fn delete(request: &Request, host: &dyn Host) -> Result<Deletion, Failure> {
        with_machines(host, &request.class, &request.cluster, |machines| machines.delete(request))
    }

    fn get_status(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        with_machines(host, &request.class, &request.cluster, |machines| machines.get_status(request))
    }

    fn list(class: &Class, cluster: &str, token: Option<&str>, host: &dyn Host) -> Result<Page, Failure> {
        with_machines(host, class, cluster, |machines| machines.list(class, cluster, token))
    }

    fn get_volume_ids(volume_specs: &[String], _: &dyn OfflineHost) -> Result<Vec<Option<String>>, Failure> {
        volume_specs.iter().enumerate().map(|(index, spec)| volume::id(spec, index)).collect()
    }
}

impl Reboot for AzureDriver {
    fn reboot(request: &Request, host: &dyn Host) -> Result<(), Failure> {
        with_machines(host, &request.class, &request.cluster, |machines| machines.reboot(request))
    }
}

impl DeleteById for AzureDriver {
    fn delete_by_id(request: &Request, provider_id: &str, host: &dyn Host) -> Result<(), Failure> {
        let delete = |machines: Machines<'_>| machines.delete_one(request, provider_id);
        with_machines(host, &request.class, &request.cluster, delete)
    }
}

impl NodeId for AzureDriver {
    fn node_id(_: &Request, vm: &Vm, _: &dyn OfflineHost) -> Result<String, Failure> {
        map::node_id(vm)
    }
}

impl Placement for AzureDriver {
    fn place(class: &Class, failure_domain: &str, _: &dyn OfflineHost) -> Result<String, Failure> {
        zone::placed(class, failure_domain)
    }
}

impl Interruption for AzureDriver {
    fn is_interruptible(class: &Class, _: &dyn OfflineHost) -> Result<bool, Failure> {
        spec::read(class).map(|(spec, _)| spec.market.is_spot())
    }
}

impl Capacity for AzureDriver {
    fn node_capacity(class: &Class, host: &dyn Host) -> Result<NodeResources, Failure> {
        let (spec, _) = spec::read(class)?;
        let arm = Arm::open(host, spec.cloud)?;
        resources::of(&spec, &arm)
    }
}

fn with_machines<T>(
    host: &dyn Host,
    class: &Class,
    cluster: &str,
    act: impl FnOnce(Machines<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let arm = Arm::open(host, spec::read_in_part(class).cloud)?;
    let adopted = adoption::of(&host.settings(), cluster)?;
    act(Machines { arm: &arm, adopted: adopted.as_ref(), log: host.log() })
}
