//! The calls of the host.

use machinist_sdk::driver::{
    About, Capabilities, Capacity, Class, Creation, DeleteById, Deletion, Driver, Failure, Host,
    Interruption, NodeId, NodeResources, OfflineHost, Page, Placement, Reboot, Request, Vm,
};

use crate::class::{resources, spec, volume, zone};
use crate::gce::{Gce, credentials, settings};
use crate::instance::machine::{self, Machines, Outcome};
use crate::instance::{adoption, map};

const NAME: &str = "gcp";
/// The provider in MachineClasses.
const PROVIDER: &str = "GCP";
/// How long after an insert reads may not show the instance: Google shows it when its operation has begun, usually
/// within two seconds; a busy zone takes longer. A longer window would only delay the deletion of Machines that never
/// had an instance. The listing of orphans finds an instance that appears even later.
const CONSISTENCY_WINDOW_MS: u64 = 30_000;

/// The version of the build, by default the crate's.
fn version() -> &'static str {
    option_env!("GCP_DRIVER_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// The driver of Google Compute Engine.
pub struct GcpDriver;

machinist_sdk::export_driver!(GcpDriver, reboot, delete_by_id, node_id, placement, interruption, capacity);

impl Driver for GcpDriver {
    fn describe(host: &dyn OfflineHost) -> About {
        About {
            name: NAME.to_owned(),
            version: version().to_owned(),
            providers: vec![PROVIDER.to_owned()],
            class_schema: Some(spec::SCHEMA.to_owned()),
            capabilities: Capabilities::STATUS
                | Capabilities::INITIALIZE
                | Capabilities::LISTING
                | Capabilities::VOLUME_IDS
                | Capabilities::IDEMPOTENCY_KEY,
            consistency_window_ms: CONSISTENCY_WINDOW_MS,
            hosts: settings::wished_hosts(&host.settings()),
        }
    }

    fn validate_class(class: &Class, _: &dyn OfflineHost) -> Result<Vec<String>, Failure> {
        let (spec, mut warnings) = spec::read(class)?;
        warnings.extend(zone::elsewhere(&spec, &class.zones));
        Ok(warnings)
    }

    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure> {
        // Before anything is sent: a class that cannot work asks nothing of the cloud.
        let (spec, _) = spec::read(&request.class)?;
        with_machines(host, Some(request), &request.class, &request.cluster, |machines| {
            machines.create(request, &spec, &credentials::user_data(host)?)
        })
    }

    fn initialize(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        with_machines(host, Some(request), &request.class, &request.cluster, |machines| {
            machines.initialize(request)
        })
    }

    fn delete(request: &Request, host: &dyn Host) -> Result<Deletion, Failure> {
        with_machines(host, Some(request), &request.class, &request.cluster, |machines| {
            machines.delete(request)
        })
    }

    fn get_status(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        with_machines(host, Some(request), &request.class, &request.cluster, |machines| {
            machines.get_status(request)
        })
    }

    fn list(class: &Class, cluster: &str, token: Option<&str>, host: &dyn Host) -> Result<Page, Failure> {
        with_machines(host, None, class, cluster, |machines| machines.list(cluster, token))
    }

    fn get_volume_ids(volume_specs: &[String], _: &dyn OfflineHost) -> Result<Vec<Option<String>>, Failure> {
        volume_specs.iter().enumerate().map(|(index, spec)| volume::id(spec, index)).collect()
    }
}

impl Reboot for GcpDriver {
    fn reboot(request: &Request, host: &dyn Host) -> Result<(), Failure> {
        with_machines(host, Some(request), &request.class, &request.cluster, |machines| {
            machines.reboot(request)
        })
    }
}

impl DeleteById for GcpDriver {
    fn delete_by_id(request: &Request, provider_id: &str, host: &dyn Host) -> Result<(), Failure> {
        with_machines(host, Some(request), &request.class, &request.cluster, |machines| {
            machines.delete_one(request, provider_id)
        })
    }
}

impl NodeId for GcpDriver {
    fn node_id(_: &Request, vm: &Vm, _: &dyn OfflineHost) -> Result<String, Failure> {
        map::node_id(vm)
    }
}

impl Placement for GcpDriver {
    fn place(class: &Class, failure_domain: &str, _: &dyn OfflineHost) -> Result<String, Failure> {
        zone::placed(class, failure_domain)
    }
}

impl Interruption for GcpDriver {
    fn is_interruptible(class: &Class, _: &dyn OfflineHost) -> Result<bool, Failure> {
        spec::read(class).map(|(spec, _)| spec.scheduling.is_spot())
    }
}

impl Capacity for GcpDriver {
    fn node_capacity(class: &Class, host: &dyn Host) -> Result<NodeResources, Failure> {
        let (spec, _) = spec::read(class)?;
        let gce = Gce::open(host, spec.project.clone())?;
        resources::of(&spec, &gce)
    }
}

fn with_machines<T>(
    host: &dyn Host,
    request: Option<&Request>,
    class: &Class,
    cluster: &str,
    act: impl FnOnce(Machines<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let adopted = adoption::of(&host.settings(), cluster)?;
    let stored = request.and_then(machine::stored_project);
    let gce = Gce::open(host, stored.or_else(|| spec::read_in_part(class).project))?;
    act(Machines { gce: &gce, adopted: adopted.as_ref(), log: host.log() })
}
