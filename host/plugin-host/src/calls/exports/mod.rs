//! The exports of the contract. Each has a row of [`questions`], and an [`Ask`] that says how it is asked, how its
//! answer becomes core's, and how it is read back from a recording. An export that a driver may leave out also has a
//! row in [`crate::calls::bindings::optional`]. `of_cluster_api` has the exports that only Cluster API needs.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use machinist_core::driver::error::GuestFailure;
use machinist_core::driver::{
    ClassSpec, Creation, Deletion, DriverResult, ListRequest, MachineRequest, Operation, Page, SecretValues,
    Vm,
};
use serde::Serialize;
use wasmtime::{Result, Store};

use crate::calls::bindings::driver::machinist::provider::types as wit;
use crate::calls::bindings::optional::Exports;
use crate::calls::convert::{self, About};
use crate::calls::guest::GuestState;
use crate::calls::replay::{Replay, ReplayError};
use crate::recording::CallRecording;
use crate::vault::Vault;

mod of_cluster_api;

pub(crate) use of_cluster_api::{IsInterruptible, NodeCapacity, NodeId, Place};

pub(crate) struct CallContext<'a> {
    pub(crate) exports: &'a Exports,
    pub(crate) store: &'a mut Store<GuestState>,
    pub(crate) vault: &'a Vault,
    pub(crate) deadline_ms: u64,
    /// Notes question and answer.
    pub(crate) recording: &'a CallRecording,
}

impl CallContext<'_> {
    /// Notes the answer, and makes it core's.
    #[expect(clippy::result_large_err, reason = "as drivers answer, once a call")]
    fn answered<T, A>(
        &self,
        answer: std::result::Result<T, wit::DriverError>,
        convert: impl FnOnce(T, &Vault) -> std::result::Result<A, GuestFailure>,
    ) -> DriverResult<A>
    where
        std::result::Result<T, wit::DriverError>: Serialize,
    {
        self.recording.answered(&answer);
        match answer {
            Ok(answer) => convert(answer, self.vault).map_err(Into::into),
            Err(error) => Err(convert::error(error, self.vault)),
        }
    }
}

/// One question to a driver.
pub(crate) trait Ask: Clone + Send + Sync + 'static {
    type Answer: Send + 'static;

    const OPERATION: Operation;

    /// Whether it creates or changes a VM. A withdrawn version answers only questions that do not.
    const CHANGES_VMS: bool = false;

    /// The values that stay in the host. Calls without secrets have no network either.
    fn take_secrets(&mut self) -> Option<SecretValues> {
        None
    }

    /// Which object it is about, for the log.
    fn subject(&self) -> String;

    /// Asks. The outer error is the engine's.
    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<Self::Answer>>>;

    /// Reads the question back from a recording.
    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError>;
}

macro_rules! questions {
    ($($question:ident),+) => {
        /// Asks again what a recording asked. Returns `None` if no question has this name.
        pub(crate) fn ask_again<'a>(
            name: &str,
            replay: &'a Replay<'_>,
        ) -> Option<BoxFuture<'a, std::result::Result<(), ReplayError>>> {
            $(if name == <$question as Ask>::OPERATION.name() {
                return Some(replay.ask::<$question>().boxed());
            })+
            None
        }
    };
}

questions![
    Create, Initialize, Delete, GetStatus, Reboot, DeleteById, NodeId, Place, IsInterruptible, List,
    NodeCapacity, GetVolumeIds, ValidateClass, Describe
];

/// Declares the questions about a Machine: what they name beside it, whether they change a VM, and for each the export,
/// its function, and the conversion of its answer.
macro_rules! about_machine {
    ($(
        $name:ident { $($extra:ident),* } changes_vms: $changes_vms:literal,
        $export:ident.$call:ident -> $answer:ty: $convert:path;
    )+) => {$(
        #[derive(Clone)]
        pub(crate) struct $name {
            pub(crate) request: MachineRequest,
            $(pub(crate) $extra: String,)*
        }

        impl Ask for $name {
            type Answer = $answer;

            const OPERATION: Operation = Operation::$name;
            const CHANGES_VMS: bool = $changes_vms;

            fn take_secrets(&mut self) -> Option<SecretValues> {
                Some(std::mem::take(&mut self.request.secrets))
            }

            fn subject(&self) -> String {
                format!("{}/{}", self.request.machine.namespace, self.request.machine.name)
            }

            fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<$answer>>> {
                async move {
                    let export = match running.exports.$export() {
                        Ok(export) => export,
                        Err(error) => return Ok(Err(error.into())),
                    };
                    let request = convert::request(&self.request, running.deadline_ms);
                    $(let $extra = &self.$extra;)*
                    running.recording.asked(&about_machine!(@tuple &request $(, $extra)*));
                    let answer = export.$call(&mut *running.store, &request $(, $extra)*).await?;
                    Ok(running.answered(answer, $convert))
                }
                .boxed()
            }

            fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
                let about_machine!(@pattern request $(, $extra)*) = replay.question(Self::OPERATION)?;
                Ok(Self { request: convert::machine_request(request, replay.stand_ins()?) $(, $extra)* })
            }
        }
    )+};
    // One value is recorded as it is, several as a list.
    (@tuple $one:expr) => { $one };
    (@tuple $first:expr, $($more:expr),+) => { ($first, $($more),+) };
    (@pattern $one:ident) => { $one };
    (@pattern $first:ident, $($more:ident),+) => { ($first, $($more),+) };
}

about_machine! {
    Create {} changes_vms: true, driver.call_create -> Creation: convert::creation;
    Initialize {} changes_vms: true, driver.call_initialize -> Vm: convert::vm;
    Delete {} changes_vms: false, driver.call_delete -> Deletion: convert::deletion;
    GetStatus {} changes_vms: false, driver.call_get_status -> Vm: convert::vm;
    Reboot {} changes_vms: true, reboot.call_reboot -> (): convert::done;
    // `vm` is to go; the request names the VM that the Machine keeps.
    DeleteById { vm } changes_vms: false, delete_by_id.call_delete_by_id -> (): convert::done;
}

#[derive(Clone)]
pub(crate) struct List(pub(crate) ListRequest);

impl Ask for List {
    type Answer = Page;

    const OPERATION: Operation = Operation::List;

    fn take_secrets(&mut self) -> Option<SecretValues> {
        Some(std::mem::take(&mut self.0.secrets))
    }

    fn subject(&self) -> String {
        self.0.class.name.to_string()
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<Page>>> {
        async move {
            let class = convert::class(&self.0.class);
            running.recording.asked(&(&class, &self.0.cluster, &self.0.token));
            let driver = running.exports.required();
            let token = self.0.token.as_deref();
            let answer = driver.call_list(&mut *running.store, &class, &self.0.cluster, token).await?;
            Ok(running.answered(answer, |page, _| convert::page(page)))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        let (class, cluster, token) = replay.question(Self::OPERATION)?;
        let class = convert::class_spec(class);
        Ok(Self(ListRequest { class, cluster, token, secrets: replay.stand_ins()? }))
    }
}

#[derive(Clone)]
pub(crate) struct GetVolumeIds(pub(crate) Vec<String>);

impl Ask for GetVolumeIds {
    type Answer = Vec<Option<String>>;

    const OPERATION: Operation = Operation::GetVolumeIds;

    fn subject(&self) -> String {
        format!("{} volumes", self.0.len())
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<Self::Answer>>> {
        async move {
            running.recording.asked(&self.0);
            let answer = running.exports.required().call_get_volume_ids(&mut *running.store, &self.0).await?;
            Ok(running.answered(answer, |ids, _| convert::volume_ids(self.0.len(), ids)))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        replay.question(Self::OPERATION).map(Self)
    }
}

#[derive(Clone)]
pub(crate) struct ValidateClass(pub(crate) ClassSpec);

impl Ask for ValidateClass {
    type Answer = Vec<String>;

    const OPERATION: Operation = Operation::ValidateClass;

    fn subject(&self) -> String {
        self.0.name.to_string()
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<Self::Answer>>> {
        async move {
            let class = convert::class(&self.0);
            running.recording.asked(&class);
            let answer = running.exports.required().call_validate_class(&mut *running.store, &class).await?;
            Ok(running.answered(answer, |warnings, vault| Ok(convert::warnings(&warnings, vault))))
        }
        .boxed()
    }

    fn recorded(replay: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        replay.question(Self::OPERATION).map(convert::class_spec).map(Self)
    }
}

#[derive(Clone)]
pub(crate) struct Describe;

impl Ask for Describe {
    type Answer = About;

    const OPERATION: Operation = Operation::Describe;

    fn subject(&self) -> String {
        String::new()
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<About>>> {
        async move {
            running.recording.asked(&());
            let about = running.exports.required().call_describe(&mut *running.store).await?;
            running.recording.answered(&about);
            Ok(convert::about(about).map_err(Into::into))
        }
        .boxed()
    }

    fn recorded(_: &Replay<'_>) -> std::result::Result<Self, ReplayError> {
        Ok(Self)
    }
}
