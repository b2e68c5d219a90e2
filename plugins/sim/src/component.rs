//! The calls of the host.

use machinist_sdk::driver::{
    About, Capabilities, Capacity, Class, Creation, DeleteById, Deletion, Driver, Encoding, Failure, Host,
    Interruption, NodeId, NodeResources, OfflineHost, Page, Placement, Reboot, Request, Vm, not_found,
    quoted,
};

use crate::cloud::Cloud;
use crate::machine::Machines;
use crate::settings::{Creates, Endpoint};
use crate::{map, spec};

/// The name of the driver, and the only provider that it serves.
const NAME: &str = "sim";
/// The key of the Secret with the API token.
pub(crate) const TOKEN_KEY: &str = "token";

/// The driver of the simulated cloud.
pub struct SimDriver;

machinist_sdk::export_driver!(SimDriver, reboot, delete_by_id, node_id, placement, interruption, capacity);

/// The version of the build, by default the crate's.
fn version() -> &'static str {
    option_env!("SIM_DRIVER_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// All capabilities of the contract, without idempotency keys if the settings turn them off.
fn capabilities(creates: Creates) -> Capabilities {
    let mut all =
        Capabilities::STATUS | Capabilities::INITIALIZE | Capabilities::LISTING | Capabilities::VOLUME_IDS;
    if creates.keep_keys {
        all |= Capabilities::IDEMPOTENCY_KEY;
    }
    all
}

impl Driver for SimDriver {
    fn describe(host: &dyn OfflineHost) -> About {
        let endpoint = Endpoint::from_settings(&host.settings()).ok();
        let creates = Creates::from_settings(&host.settings());
        About {
            name: NAME.to_owned(),
            version: version().to_owned(),
            providers: vec![NAME.to_owned()],
            class_schema: Some(spec::SCHEMA.to_owned()),
            capabilities: capabilities(creates),
            consistency_window_ms: creates.consistency_window_ms,
            hosts: endpoint.iter().map(|endpoint| endpoint.host().to_owned()).collect(),
        }
    }

    fn validate_class(class: &Class, _: &dyn OfflineHost) -> Result<Vec<String>, Failure> {
        spec::read(class).map(|read| read.warnings)
    }

    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure> {
        let cloud = open(host)?;
        let user_data = host.secrets().user_data().map(|secret| secret.placeholder(&[Encoding::Base64]));
        let user_data = user_data.transpose()?;
        machines(&cloud, host).create(request, user_data.as_deref()).map(Creation::Created)
    }

    fn initialize(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        machines(&open(host)?, host).initialize(request)
    }

    fn delete(request: &Request, host: &dyn Host) -> Result<Deletion, Failure> {
        machines(&open(host)?, host).delete(request).map(|()| Deletion::Deleted(None))
    }

    fn get_status(request: &Request, host: &dyn Host) -> Result<Vm, Failure> {
        machines(&open(host)?, host).get_status(request)
    }

    fn list(_: &Class, cluster: &str, token: Option<&str>, host: &dyn Host) -> Result<Page, Failure> {
        machines(&open(host)?, host).list(cluster, token)
    }

    fn get_volume_ids(volume_specs: &[String], _: &dyn OfflineHost) -> Result<Vec<Option<String>>, Failure> {
        volume_specs.iter().enumerate().map(|(index, spec)| map::volume_id(spec, index)).collect()
    }
}

impl Reboot for SimDriver {
    fn reboot(request: &Request, host: &dyn Host) -> Result<(), Failure> {
        machines(&open(host)?, host).reboot(request)
    }
}

impl DeleteById for SimDriver {
    fn delete_by_id(request: &Request, provider_id: &str, host: &dyn Host) -> Result<(), Failure> {
        machines(&open(host)?, host).delete_one(request, provider_id)
    }
}

impl NodeId for SimDriver {
    /// The kubelets of this cloud register with the driver's own ids.
    fn node_id(_: &Request, vm: &Vm, _: &dyn OfflineHost) -> Result<String, Failure> {
        Ok(vm.provider_id.clone())
    }
}

impl Placement for SimDriver {
    fn place(class: &Class, failure_domain: &str, _: &dyn OfflineHost) -> Result<String, Failure> {
        spec::placed(class, failure_domain)
    }
}

impl Interruption for SimDriver {
    fn is_interruptible(class: &Class, _: &dyn OfflineHost) -> Result<bool, Failure> {
        spec::read(class).map(|read| read.spec.interruptible)
    }
}

impl Capacity for SimDriver {
    fn node_capacity(class: &Class, host: &dyn Host) -> Result<NodeResources, Failure> {
        let kind = spec::read(class)?.spec.kind;
        let size = open(host)?.size(&kind)?;
        size.map(|size| map::resources(&size))
            .ok_or_else(|| not_found(format!("the cloud has no type {}", quoted(&kind))))
    }
}

/// Reads the settings and gets a placeholder for the token.
fn open(host: &dyn Host) -> Result<Cloud<'_>, Failure> {
    let endpoint = Endpoint::from_settings(&host.settings())?;
    let token = host.secrets().needed(TOKEN_KEY, "the cloud's API token")?.placeholder(&[])?;
    Ok(Cloud::new(host, endpoint, &token))
}

fn machines<'a>(cloud: &'a Cloud<'a>, host: &'a dyn Host) -> Machines<'a> {
    Machines { cloud, log: host.log() }
}
