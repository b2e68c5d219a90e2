//! The exports of the world: what the host calls.

use crate::bindings::exports::machinist::provider::driver::Guest;
use crate::bindings::exports::machinist::provider::reboot::Guest as Reboot;
use crate::bindings::machinist::host::log::{self, Level};
use crate::bindings::machinist::host::settings;
use crate::bindings::machinist::provider::types::{
    About, Capabilities, Class, Creation, Deletion, DriverError, Page, Request, Vm,
};
use crate::ec2::Ec2;
use crate::http::{self, Wasi};
use crate::machine::{self, Machines, Outcome};
use crate::settings::wished_hosts;
use crate::{initialize, spec, volume};

const NAME: &str = "aws";
/// MachineClasses name it so.
const PROVIDER: &str = "AWS";
/// After a launch, reads of EC2 may not show the instance for as long as this. They do within seconds; the rest is room for
/// a bad day. More would only delay the deletion of Machines that never had an instance, and what comes later still is
/// found by the listing of orphans.
const CONSISTENCY_WINDOW_MS: u64 = 30_000;

/// All that the contract knows: EC2 can do it all.
fn capabilities() -> Capabilities {
    Capabilities::STATUS
        | Capabilities::INITIALIZE
        | Capabilities::LISTING
        | Capabilities::VOLUME_IDS
        | Capabilities::IDEMPOTENCY_KEY
}

/// The version that the build was told, by default the crate's.
fn version() -> &'static str {
    option_env!("AWS_DRIVER_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// The driver of EC2.
pub(crate) struct Driver;

impl Guest for Driver {
    fn describe() -> About {
        About {
            name: NAME.to_owned(),
            version: version().to_owned(),
            providers: vec![PROVIDER.to_owned()],
            class_schema: Some(spec::SCHEMA.to_owned()),
            capabilities: capabilities(),
            consistency_window_ms: CONSISTENCY_WINDOW_MS,
            hosts: wished_hosts(&settings::get()),
        }
    }

    fn validate_class(class: Class) -> Result<Vec<String>, DriverError> {
        spec::read(&class).map(|(_, warnings)| warnings).map_err(|error| *error)
    }

    fn create(request: Request) -> Result<Creation, DriverError> {
        let region = machine::region_of_create(&request);
        with_machines(region, |machines| machines.create(&request, &http::user_data()?))
            .map_err(|error| *error)
    }

    fn initialize(request: Request) -> Result<Vm, DriverError> {
        let region = initialize::is_offered(&request).and_then(|()| machine::region_of(&request));
        with_machines(region, |machines| machines.initialize(&request)).map_err(|error| *error)
    }

    fn delete(request: Request) -> Result<Deletion, DriverError> {
        with_machines(machine::region_of(&request), |machines| machines.delete(&request))
            .map(|()| Deletion::Deleted(None))
            .map_err(|error| *error)
    }

    fn get_status(request: Request) -> Result<Vm, DriverError> {
        with_machines(machine::region_of(&request), |machines| machines.get_status(&request))
            .map_err(|error| *error)
    }

    fn list(class: Class, cluster: String, token: Option<String>) -> Result<Page, DriverError> {
        let list = |machines: Machines<'_>| machines.list(&class, &cluster, token.as_deref());
        with_machines(machine::region_of_class(&class), list).map_err(|error| *error)
    }

    fn get_volume_ids(volume_specs: Vec<String>) -> Result<Vec<Option<String>>, DriverError> {
        let ids = volume_specs.iter().enumerate().map(|(index, spec)| volume::id(spec, index));
        ids.collect::<Result<_, _>>().map_err(|error| *error)
    }
}

impl Reboot for Driver {
    fn reboot(request: Request) -> Result<(), DriverError> {
        with_machines(machine::region_of(&request), |machines| machines.reboot(&request))
            .map_err(|error| *error)
    }
}

fn with_machines<T>(region: Outcome<String>, act: impl FnOnce(Machines<'_>) -> Outcome<T>) -> Outcome<T> {
    let transport = Wasi::open(region?)?;
    act(Machines { ec2: Ec2::new(&transport), note: &note })
}

fn note(message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    log::emit(Level::Info, message, &fields);
}
