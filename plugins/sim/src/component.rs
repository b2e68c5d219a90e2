//! The exports of the world: what the host calls.

use crate::bindings::exports::machinist::provider::driver::Guest;
use crate::bindings::exports::machinist::provider::reboot::Guest as Reboot;
use crate::bindings::machinist::host::log::{self, Level};
use crate::bindings::machinist::host::settings;
use crate::bindings::machinist::provider::types::{
    About, Capabilities, Class, Creation, Deletion, DriverError, Page, Request, Vm,
};
use crate::cloud::Cloud;
use crate::http::{self, Wasi};
use crate::machine::Machines;
use crate::settings::Endpoint;
use crate::{map, spec};

/// The name of the driver and the only provider that it serves.
const NAME: &str = "sim";
/// After a create, reads of the cloud may not show the VM for as long as this.
const CONSISTENCY_WINDOW_MS: u64 = 10_000;

/// All that the contract knows: this cloud can do it all.
fn capabilities() -> Capabilities {
    Capabilities::STATUS
        | Capabilities::INITIALIZE
        | Capabilities::LISTING
        | Capabilities::VOLUME_IDS
        | Capabilities::IDEMPOTENCY_KEY
}

/// The version that the build was told, by default the crate's.
fn version() -> &'static str {
    option_env!("SIM_DRIVER_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// The driver of the simulated cloud.
pub(crate) struct Driver;

impl Guest for Driver {
    fn describe() -> About {
        let endpoint = Endpoint::from_settings(&settings::get()).ok();
        About {
            name: NAME.to_owned(),
            version: version().to_owned(),
            providers: vec![NAME.to_owned()],
            class_schema: Some(spec::SCHEMA.to_owned()),
            capabilities: capabilities(),
            consistency_window_ms: CONSISTENCY_WINDOW_MS,
            hosts: endpoint.iter().map(|endpoint| endpoint.host().to_owned()).collect(),
        }
    }

    fn validate_class(class: Class) -> Result<Vec<String>, DriverError> {
        spec::read(&class).map(|read| read.warnings).map_err(|error| *error)
    }

    fn create(request: Request) -> Result<Creation, DriverError> {
        let create = |machines: Machines<'_>| machines.create(&request, http::user_data()?.as_deref());
        with_machines(create).map(Creation::Created).map_err(|error| *error)
    }

    fn initialize(request: Request) -> Result<Vm, DriverError> {
        with_machines(|machines| machines.initialize(&request)).map_err(|error| *error)
    }

    fn delete(request: Request) -> Result<Deletion, DriverError> {
        with_machines(|machines| machines.delete(&request))
            .map(|()| Deletion::Deleted(None))
            .map_err(|error| *error)
    }

    fn get_status(request: Request) -> Result<Vm, DriverError> {
        with_machines(|machines| machines.get_status(&request)).map_err(|error| *error)
    }

    fn list(_class: Class, cluster: String, token: Option<String>) -> Result<Page, DriverError> {
        with_machines(|machines| machines.list(&cluster, token.as_deref())).map_err(|error| *error)
    }

    fn get_volume_ids(volume_specs: Vec<String>) -> Result<Vec<Option<String>>, DriverError> {
        let ids = volume_specs.iter().enumerate().map(|(index, spec)| map::volume_id(spec, index));
        ids.collect::<Result<_, _>>().map_err(|error| *error)
    }
}

impl Reboot for Driver {
    fn reboot(request: Request) -> Result<(), DriverError> {
        with_machines(|machines| machines.reboot(&request)).map_err(|error| *error)
    }
}

fn with_machines<T>(
    act: impl FnOnce(Machines<'_>) -> Result<T, Box<DriverError>>,
) -> Result<T, Box<DriverError>> {
    let transport = Wasi::open()?;
    act(Machines { cloud: Cloud::new(&transport), note: &note })
}

fn note(message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    log::emit(Level::Info, message, &fields);
}
