//! The exports that Cluster API needs beside those of every driver: ids of Nodes, failure domains, interruptions,
//! resources.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use machinist_core::driver::{
    ClassRequest, DriverResult, MachineRequest, NodeResources, Operation, SecretValues,
};
use machinist_core::value::id::ProviderId;
use wasmtime::Result;

use super::{Ask, CallContext};
use crate::calls::bindings::driver::machinist::provider::types as wit;
use crate::calls::convert;
use crate::calls::replay::{Replay, ReplayError};

/// Evaluates to an export, or returns its absence as the answer.
macro_rules! offered {
    ($export:expr) => {
        match $export {
            Ok(export) => export,
            Err(error) => return Ok(Err(error.into())),
        }
    };
}

/// Which id the Node of this VM has. Without secrets, and so without network.
#[derive(Clone)]
pub(crate) struct NodeId {
    pub(crate) request: MachineRequest,
    pub(crate) vm: wit::Vm,
}

impl Ask for NodeId {
    type Answer = ProviderId;

    const OPERATION: Operation = Operation::NodeId;

    fn subject(&self) -> String {
        format!("{}/{}", self.request.machine.namespace, self.request.machine.name)
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<ProviderId>>> {
        async move {
            let export = offered!(running.exports.node_id());
            let request = convert::request(&self.request, running.deadline_ms);
            running.recording.asked(&(&request, &self.vm));
            let answer = export.call_node_id(&mut *running.store, &request, &self.vm).await?;
            Ok(running.answered(answer, |id, _| convert::node_id(id)))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        let (request, vm) = replay.question(Self::OPERATION)?;
        Ok(Self { request: convert::machine_request(request, SecretValues::default()), vm })
    }
}

/// The class of this Machine in an exact failure domain. Without secrets, and so without network.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) request: MachineRequest,
    pub(crate) failure_domain: String,
}

impl Ask for Place {
    type Answer = String;

    const OPERATION: Operation = Operation::Place;

    fn subject(&self) -> String {
        format!("{}/{}", self.request.machine.namespace, self.request.machine.name)
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<String>>> {
        async move {
            let export = offered!(running.exports.placement());
            // The Machine only decides which version of the driver answers.
            let request = convert::request(&self.request, running.deadline_ms);
            running.recording.asked(&(&request, &self.failure_domain));
            let answer = export.call_place(&mut *running.store, &request.class, &self.failure_domain).await?;
            Ok(running.answered(answer, |spec, _| convert::placed_spec(spec)))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        let (request, failure_domain) = replay.question(Self::OPERATION)?;
        Ok(Self { request: convert::machine_request(request, SecretValues::default()), failure_domain })
    }
}

/// Whether the cloud may take VMs of the class of this Machine away. Without secrets, and so without network.
#[derive(Clone)]
pub(crate) struct IsInterruptible {
    pub(crate) request: MachineRequest,
}

impl Ask for IsInterruptible {
    type Answer = bool;

    const OPERATION: Operation = Operation::IsInterruptible;

    fn subject(&self) -> String {
        format!("{}/{}", self.request.machine.namespace, self.request.machine.name)
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<bool>>> {
        async move {
            let export = offered!(running.exports.interruption());
            // The Machine only decides which version of the driver answers.
            let request = convert::request(&self.request, running.deadline_ms);
            running.recording.asked(&request);
            let answer = export.call_is_interruptible(&mut *running.store, &request.class).await?;
            Ok(running.answered(answer, |is_interruptible, _| Ok(is_interruptible)))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        let request = replay.question(Self::OPERATION)?;
        Ok(Self { request: convert::machine_request(request, SecretValues::default()) })
    }
}

/// The resources of a Node of a class.
#[derive(Clone)]
pub(crate) struct NodeCapacity(pub(crate) ClassRequest);

impl Ask for NodeCapacity {
    type Answer = NodeResources;

    const OPERATION: Operation = Operation::NodeCapacity;

    fn take_secrets(&mut self) -> Option<SecretValues> {
        Some(std::mem::take(&mut self.0.secrets))
    }

    fn subject(&self) -> String {
        self.0.class.name.to_string()
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<NodeResources>>> {
        async move {
            let export = offered!(running.exports.capacity());
            let class = convert::class(&self.0.class);
            running.recording.asked(&class);
            let answer = export.call_node_capacity(&mut *running.store, &class).await?;
            Ok(running.answered(answer, |resources, _| convert::node_resources(resources)))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        let class = convert::class_spec(replay.question(Self::OPERATION)?);
        Ok(Self(ClassRequest { class, secrets: replay.stand_ins()? }))
    }
}
