//! The exports of a component: from the host's call to the author's function.
//!
//! | module | what it does |
//! | --- | --- |
//! | `host` | the host of a component, over the imports of its world |
//! | `http` | sends requests through the host's `outgoing-handler` |

mod host;
mod http;

use std::marker::PhantomData;

use crate::bindings::capacity_teller::exports::machinist::capacity::capacity::Guest as CapacityGuest;
use crate::bindings::id_deleter::exports::machinist::delete_by_id::delete_by_id::Guest as DeleteByIdGuest;
use crate::bindings::interruption_teller::exports::machinist::interruption::interruption::Guest as InterruptionGuest;
use crate::bindings::node_namer::exports::machinist::node_id::node_id::Guest as NodeIdGuest;
use crate::bindings::placer::exports::machinist::placement::placement::Guest as PlacementGuest;
use crate::bindings::policy::exports::machinist::policy::policy::Guest as PolicyGuest;
use crate::bindings::provider::exports::machinist::provider::driver::Guest as DriverGuest;
use crate::bindings::rebooter::exports::machinist::provider::reboot::Guest as RebootGuest;
use crate::driver::{
    About, Capacity, Class, Creation, DeleteById, Deletion, Driver, DriverError, Failure, Interruption,
    NodeId, NodeResources, Page, Placement, Reboot, Request, Vm, volume_ids,
};
use crate::log::{HostLog, Log};
use crate::policy::{self, Policy, Question, Verdict};
use host::ComponentHost;

/// A driver as the contract exports it.
#[derive(Debug)]
pub struct Exported<D>(PhantomData<D>);

impl<D: Driver> DriverGuest for Exported<D> {
    fn describe() -> About {
        D::describe(&ComponentHost)
    }

    fn validate_class(class: Class) -> Result<Vec<String>, DriverError> {
        D::validate_class(&class, &ComponentHost).map_err(Failure::into_record)
    }

    fn create(request: Request) -> Result<Creation, DriverError> {
        D::create(&request, &ComponentHost).map_err(Failure::into_record)
    }

    fn initialize(request: Request) -> Result<Vm, DriverError> {
        D::initialize(&request, &ComponentHost).map_err(Failure::into_record)
    }

    fn delete(request: Request) -> Result<Deletion, DriverError> {
        D::delete(&request, &ComponentHost).map_err(Failure::into_record)
    }

    fn get_status(request: Request) -> Result<Vm, DriverError> {
        D::get_status(&request, &ComponentHost).map_err(Failure::into_record)
    }

    fn list(class: Class, cluster: String, token: Option<String>) -> Result<Page, DriverError> {
        D::list(&class, &cluster, token.as_deref(), &ComponentHost).map_err(Failure::into_record)
    }

    fn get_volume_ids(volume_specs: Vec<String>) -> Result<Vec<Option<String>>, DriverError> {
        volume_ids::<D>(&volume_specs, &ComponentHost).map_err(Failure::into_record)
    }
}

impl<D: Reboot> RebootGuest for Exported<D> {
    fn reboot(request: Request) -> Result<(), DriverError> {
        D::reboot(&request, &ComponentHost).map_err(Failure::into_record)
    }
}

impl<D: DeleteById> DeleteByIdGuest for Exported<D> {
    fn delete_by_id(request: Request, provider_id: String) -> Result<(), DriverError> {
        D::delete_by_id(&request, &provider_id, &ComponentHost).map_err(Failure::into_record)
    }
}

impl<D: NodeId> NodeIdGuest for Exported<D> {
    fn node_id(request: Request, vm: Vm) -> Result<String, DriverError> {
        D::node_id(&request, &vm, &ComponentHost).map_err(Failure::into_record)
    }
}

impl<D: Placement> PlacementGuest for Exported<D> {
    fn place(class: Class, failure_domain: String) -> Result<String, DriverError> {
        D::place(&class, &failure_domain, &ComponentHost).map_err(Failure::into_record)
    }
}

impl<D: Interruption> InterruptionGuest for Exported<D> {
    fn is_interruptible(class: Class) -> Result<bool, DriverError> {
        D::is_interruptible(&class, &ComponentHost).map_err(Failure::into_record)
    }
}

impl<D: Capacity> CapacityGuest for Exported<D> {
    fn node_capacity(class: Class) -> Result<NodeResources, DriverError> {
        D::node_capacity(&class, &ComponentHost).map_err(Failure::into_record)
    }
}

/// A health policy as the contract exports it.
#[derive(Debug)]
pub struct ExportedPolicy<P>(PhantomData<P>);

impl<P: Policy> PolicyGuest for ExportedPolicy<P> {
    fn describe() -> policy::About {
        policy::about::<P>()
    }

    fn check_settings(settings: String) -> Result<(), String> {
        policy::read_settings::<P>(&settings).map(|_| ())
    }

    fn evaluate(question: Question, settings: String, now: u64) -> Verdict {
        policy::evaluate::<P>(&settings, &question, now, Log::new(&HostLog))
    }
}
