//! The calls of the host.

use machinist_sdk::driver::{
    About, Capabilities, Capacity, Class, Creation, DeleteById, Deletion, Driver, Failure, Host,
    Interruption, NodeId, NodeResources, OfflineHost, Page, Placement, Reboot, Request, Vm,
};

use crate::class::{resources, spec, volume, zone};
use crate::ec2::Ec2;
use crate::ec2::http::{self, Signed};
use crate::ec2::settings::wished_hosts;
use crate::instance::adoption;
use crate::instance::initialize;
use crate::instance::machine::{self, Machines, Outcome};
use crate::instance::map;

const NAME: &str = "aws";
/// The provider in MachineClasses.
const PROVIDER: &str = "AWS";
/// How long after a launch reads of EC2 may not show the instance. Usually they show it within seconds; the rest is a
/// margin. A longer window would only delay the deletion of Machines that never had an instance. The listing of orphans
/// finds an instance that appears even later.
const CONSISTENCY_WINDOW_MS: u64 = 30_000;

/// The version of the build, by default the crate's.
fn version() -> &'static str {
    option_env!("AWS_DRIVER_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// The driver of AWS EC2.
pub struct AwsDriver;

machinist_sdk::export_driver!(AwsDriver, reboot, delete_by_id, node_id, placement, interruption, capacity);

/// All capabilities of the contract.
fn capabilities() -> Capabilities {
    Capabilities::STATUS
        | Capabilities::INITIALIZE
        | Capabilities::LISTING
        | Capabilities::VOLUME_IDS
        | Capabilities::IDEMPOTENCY_KEY
}

impl Driver for AwsDriver {
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
        let (spec, mut warnings) = spec::read(class)?;
        warnings.extend(zone::without_subnet(&spec, &class.zones));
        Ok(warnings)
    }

    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure> {
        let region = machine::region_of_create(request);
        let cluster = &request.cluster;
        with_machines(host, region, cluster, |machines| machines.create(request, &http::user_data(host)?))
    }

    fn initialize(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        let adopted = adoption::of(&host.settings(), &request.cluster)?;
        let is_offered = initialize::is_offered(request, adopted.as_ref());
        let region = is_offered.and_then(|()| machine::region_of(request));
        with_machines(host, region, &request.cluster, |machines| machines.initialize(request))
    }

    fn delete(request: &Request, host: &dyn Host) -> Result<Deletion, Failure> {
        let region = machine::region_of(request);
        with_machines(host, region, &request.cluster, |machines| machines.delete(request))
            .map(|()| Deletion::Deleted(None))
    }

    fn get_status(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        let region = machine::region_of(request);
        with_machines(host, region, &request.cluster, |machines| machines.get_status(request))
    }

    fn list(class: &Class, cluster: &str, token: Option<&str>, host: &dyn Host) -> Result<Page, Failure> {
        let list = |machines: Machines<'_>| machines.list(cluster, token);
        with_machines(host, machine::region_of_class(class), cluster, list)
    }

    fn get_volume_ids(volume_specs: &[String], _: &dyn OfflineHost) -> Result<Vec<Option<String>>, Failure> {
        volume_specs.iter().enumerate().map(|(index, spec)| volume::id(spec, index)).collect()
    }
}

impl Reboot for AwsDriver {
    fn reboot(request: &Request, host: &dyn Host) -> Result<(), Failure> {
        let region = machine::region_of(request);
        with_machines(host, region, &request.cluster, |machines| machines.reboot(request))
    }
}

impl DeleteById for AwsDriver {
    fn delete_by_id(request: &Request, provider_id: &str, host: &dyn Host) -> Result<(), Failure> {
        let region = machine::region_of_id(request, provider_id);
        let delete = |machines: Machines<'_>| machines.delete_one(request, provider_id);
        with_machines(host, region, &request.cluster, delete)
    }
}

impl NodeId for AwsDriver {
    fn node_id(_: &Request, vm: &Vm, _: &dyn OfflineHost) -> Result<String, Failure> {
        map::node_id(vm)
    }
}

impl Placement for AwsDriver {
    fn place(class: &Class, failure_domain: &str, _: &dyn OfflineHost) -> Result<String, Failure> {
        zone::placed(class, failure_domain)
    }
}

impl Interruption for AwsDriver {
    fn is_interruptible(class: &Class, _: &dyn OfflineHost) -> Result<bool, Failure> {
        spec::read(class).map(|(spec, _)| spec.is_interruptible())
    }
}

impl Capacity for AwsDriver {
    fn node_capacity(class: &Class, host: &dyn Host) -> Result<NodeResources, Failure> {
        let (spec, _) = spec::read(class)?;
        let transport = Signed::open(host, spec.region.clone())?;
        resources::of(&spec, Ec2::new(&transport))
    }
}

fn with_machines<T>(
    host: &dyn Host,
    region: Outcome<String>,
    cluster: &str,
    act: impl FnOnce(Machines<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let transport = Signed::open(host, region?)?;
    let adopted = adoption::of(&host.settings(), cluster)?;
    act(Machines { ec2: Ec2::new(&transport), adopted: adopted.as_ref(), log: host.log() })
}
