//! The calls of Azure Resource Manager, one function each.
//!
//! | module | what it does |
//! | --- | --- |
//! | `call` | sends one request through the host, which authenticates it, and judges its answer |
//! | `settings` | the address of Azure: its cloud's, or the endpoint in the operator's settings beside the plugin |
//! | `credentials` | checks that the Secret has the keys with which the host asks for tokens |
//! | `names` | paths and names of resources |
//! | `answer` | Azure's objects, with the fields that the driver needs |
//! | `operation` | operations that take time |
//! | `graph` | queries of Resource Graph |
//! | `errors` | failed requests as failures of a call |
//! | `error_codes` | Azure's error codes as codes of the contract, with advice |
//! | `pending` | the state of a machine between calls: `last-known-state` |

pub(crate) mod answer;
mod call;
pub(crate) mod credentials;
pub(crate) mod error_codes;
pub(crate) mod errors;
pub(crate) mod graph;
pub(crate) mod names;
pub(crate) mod operation;
pub(crate) mod pending;
pub(crate) mod settings;

use machinist_sdk::driver::{Failure, Host, HttpAnswer, Method};
use serde_json::{Value, json};

use self::answer::{DiskFacts, NicFacts, VmFacts};
use self::call::Ask;
use self::errors::ArmError;
use self::names::{Kind, ResourceId};
use self::operation::{Accepted, Progress};
use self::settings::Endpoint;
use crate::class::azure_cloud::AzureCloud;
use crate::class::spec::Spec;
use crate::class::storage::Urn;

pub(crate) type ArmResult<T> = Result<T, Box<ArmError>>;

const COMPUTE: &str = "2024-03-01";
const DISKS: &str = "2023-10-02";
const NETWORK: &str = "2023-06-01";
const MARKETPLACE: &str = "2021-01-01";
const GROUPS: &str = "2021-04-01";
pub(crate) const GRAPH: &str = "2021-03-01";

/// Azure Resource Manager, with the rights of one Secret.
pub(crate) struct Arm<'a> {
    host: &'a dyn Host,
    endpoint: Endpoint,
    pub(crate) subscription: String,
}

/// The result of a look at a resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found<T> {
    Here(T),
    /// Azure itself says that there is no such resource.
    Absent,
    /// Azure itself says that the whole resource group does not exist.
    NoGroup,
}

impl<'a> Arm<'a> {
    /// Reads the settings and the id of the subscription, and checks that the Secret has the keys with which the host
    /// asks for a token.
    pub(crate) fn open(host: &'a dyn Host, cloud: AzureCloud) -> Result<Self, Failure> {
        let endpoint = Endpoint::of(&host.settings(), cloud)?;
        let subscription = credentials::check(host)?;
        Ok(Self { host, endpoint, subscription })
    }

    /// Reads a VM with what its platform says about it.
    pub(crate) fn vm(&self, id: &ResourceId) -> ArmResult<Found<VmFacts>> {
        let ask = Ask::read("read the VM", format!("{}?$expand=instanceView", id.path()), COMPUTE);
        self.look(&ask, answer::vm)
    }

    pub(crate) fn nic(&self, id: &ResourceId) -> ArmResult<Found<NicFacts>> {
        self.look(&Ask::read("read the network interface", id.path(), NETWORK), answer::nic)
    }

    pub(crate) fn disk(&self, id: &ResourceId) -> ArmResult<Found<DiskFacts>> {
        self.look(&Ask::read("read the disk", id.path(), DISKS), answer::disk)
    }

    /// Makes or changes a network interface.
    pub(crate) fn put_nic(&self, id: &ResourceId, body: Value) -> ArmResult<NicFacts> {
        let ask = Ask::change("create the network interface", Method::Put, id.path(), NETWORK).with(body);
        let (value, _) = self.value(&ask)?;
        answer::nic(&value).ok_or_else(|| self.unusual(&ask))
    }

    /// Begins to make a disk.
    pub(crate) fn put_disk(&self, id: &ResourceId, body: Value) -> ArmResult<Accepted> {
        let ask = Ask::change("create the data disk", Method::Put, id.path(), DISKS).with(body);
        self.accepted(&ask)
    }

    /// Begins to make a VM. Azure refuses it if there is one of the name, whatever reads show.
    pub(crate) fn put_vm(&self, id: &ResourceId, body: Value) -> ArmResult<Accepted> {
        let ask = Ask::change("create the VM", Method::Put, id.path(), COMPUTE).with(body).only_new();
        let (value, accepted) = self.value(&ask)?;
        if answer::vm(&value).is_none() {
            return Err(self.unusual(&ask));
        }
        Ok(accepted)
    }

    pub(crate) fn patch(&self, id: &ResourceId, doing: &'static str, body: Value) -> ArmResult<Accepted> {
        let ask = Ask::change(doing, Method::Patch, id.path(), version(id.kind)).with(body);
        self.accepted(&ask)
    }

    /// Orders a resource away. `None`: it does not exist.
    pub(crate) fn delete(&self, id: &ResourceId) -> ArmResult<Option<Accepted>> {
        let doing = match id.kind {
            Kind::Vm => "delete the VM",
            Kind::Nic => "delete the network interface",
            Kind::Disk => "delete the disk",
        };
        match self.send(&Ask::change(doing, Method::Delete, id.path(), version(id.kind))) {
            // Azure's answer if there is nothing to delete.
            Ok(answer) if answer.status == 204 => Ok(None),
            Ok(answer) => Ok(Some(operation::accepted(&answer))),
            Err(failed) if failed.is_absence() => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// Restarts a VM. False: there is no such VM.
    pub(crate) fn restart(&self, id: &ResourceId) -> ArmResult<bool> {
        let path = format!("{}/restart", id.path());
        match self.accepted(&Ask::change("restart the VM", Method::Post, path, COMPUTE)) {
            Ok(_) => Ok(true),
            Err(failed) if failed.is_absence() => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    /// True if the resource group does not exist.
    pub(crate) fn lacks_group(&self, group: &str) -> ArmResult<bool> {
        let path = format!("/subscriptions/{}/resourcegroups/{}", self.subscription, names::segment(group));
        let ask = Ask::read("read the resource group", path, GROUPS).by(Method::Head);
        match self.send(&ask) {
            Ok(_) => Ok(false),
            Err(failed) if failed.status == 404 => Ok(true),
            Err(failed) => Err(failed),
        }
    }

    /// Asks how an operation goes.
    pub(crate) fn progress(&self, path: &str, doing: &'static str) -> ArmResult<Progress> {
        let ask = Ask::poll(doing, path.to_owned());
        match self.send(&ask) {
            Ok(answer) => self.progress_of(&ask, &answer),
            Err(failed) if failed.is_absence() => Ok(Progress::Unknown),
            Err(failed) => Err(failed),
        }
    }

    fn progress_of(&self, ask: &Ask, answer: &HttpAnswer) -> ArmResult<Progress> {
        if answer.status == 202 {
            return Ok(Progress::Running { retry_after_ms: answer.retry_after_ms() });
        }
        if answer.body.is_empty() {
            return Ok(Progress::Done);
        }
        let value = self.json(ask, answer)?;
        operation::progress(&value, answer.retry_after_ms()).ok_or_else(|| self.unusual(ask))
    }

    /// Returns a version of an image of the marketplace.
    pub(crate) fn image(&self, location: &str, urn: &Urn) -> ArmResult<Value> {
        let path = names::image(&self.subscription, location, urn);
        self.value(&Ask::read("read the image", path, COMPUTE)).map(|(value, _)| value)
    }

    pub(crate) fn agreement(&self, publisher: &str, product: &str, plan: &str) -> ArmResult<Value> {
        let path = names::agreement(&self.subscription, publisher, product, plan);
        let ask = Ask::read("read the marketplace agreement", path, MARKETPLACE);
        let (value, _) = self.value(&ask)?;
        // The driver sends it back with one field changed.
        if value.get("properties").is_some_and(Value::is_object) {
            Ok(value)
        } else {
            Err(self.unusual(&ask))
        }
    }

    pub(crate) fn accept(
        &self,
        publisher: &str,
        product: &str,
        plan: &str,
        agreement: Value,
    ) -> ArmResult<Accepted> {
        let path = names::agreement(&self.subscription, publisher, product, plan);
        self.accepted(
            &Ask::change("accept the marketplace agreement", Method::Put, path, MARKETPLACE).with(agreement),
        )
    }

    /// Returns the VM sizes of a location.
    pub(crate) fn sizes(&self, location: &str) -> ArmResult<Vec<Value>> {
        let path = names::sizes(&self.subscription, location);
        let ask = Ask::read("read the VM sizes", path, COMPUTE);
        let (value, _) = self.value(&ask)?;
        value.get("value").and_then(Value::as_array).cloned().ok_or_else(|| self.unusual(&ask))
    }

    /// Returns one page of a query of Resource Graph.
    pub(crate) fn query(&self, query: &str, skip: Option<&str>) -> ArmResult<graph::Page> {
        let mut body = json!({ "subscriptions": [self.subscription], "query": query,
                               "options": { "resultFormat": "objectArray", "$top": graph::PAGE_ROWS } });
        if let Some(skip) = skip {
            body["options"]["$skipToken"] = json!(skip);
        }
        let path = "/providers/Microsoft.ResourceGraph/resources".to_owned();
        let ask = Ask::read("query Resource Graph", path, GRAPH).by(Method::Post).with(body);
        let (value, _) = self.value(&ask)?;
        let page = graph::page(&value).ok_or_else(|| self.unusual(&ask))?;
        if page.next.is_some() && page.next.as_deref() == skip {
            return Err(self.unexpected(&ask, "repeats a page token of its listing, which would never end"));
        }
        Ok(page)
    }

    /// Returns the id of the subnet of a class.
    pub(crate) fn subnet(&self, spec: &Spec) -> String {
        names::subnet(&self.subscription, spec)
    }

    fn look<T>(&self, ask: &Ask, read: impl FnOnce(&Value) -> Option<T>) -> ArmResult<Found<T>> {
        match self.value(ask) {
            Ok((value, _)) => read(&value).map(Found::Here).ok_or_else(|| self.unusual(ask)),
            Err(failed) if failed.is_missing_group() => Ok(Found::NoGroup),
            Err(failed) if failed.is_absence() => Ok(Found::Absent),
            Err(failed) => Err(failed),
        }
    }
}

fn version(kind: Kind) -> &'static str {
    match kind {
        Kind::Vm => COMPUTE,
        Kind::Nic => NETWORK,
        Kind::Disk => DISKS,
    }
}
