//! The calls of the contract, one type each: what is sent, and how the answer becomes core's.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use machinist_core::driver::error::{Code, DriverError, GuestFailure};
use machinist_core::driver::{
    ClassSpec, Creation, Deletion, DriverResult, ListRequest, MachineRequest, Operation, Page, SecretValues,
    Vm,
};
use wasmtime::{Result, Store};

use crate::calls::bindings::driver::exports::machinist::provider::driver::Guest;
use crate::calls::bindings::optional::delete_by_id::exports::machinist::delete_by_id::delete_by_id::Guest as IdDeleter;
use crate::calls::bindings::optional::exports::machinist::provider::reboot::Guest as Rebooter;
use crate::calls::convert::{self, About};
use crate::calls::guest::GuestState;
use crate::recording::CallRecording;
use crate::vault::Vault;

/// The context of a call.
pub(crate) struct CallContext<'a> {
    pub(crate) driver: &'a Guest,
    /// Absent in a driver that cannot.
    pub(crate) rebooter: Option<&'a Rebooter>,
    /// Absent in a driver that cannot.
    pub(crate) id_deleter: Option<&'a IdDeleter>,
    pub(crate) store: &'a mut Store<GuestState>,
    pub(crate) vault: &'a Vault,
    pub(crate) deadline_ms: u64,
    /// Notes question and answer.
    pub(crate) recording: &'a CallRecording,
}

/// One question to a driver.
pub(crate) trait Ask: Clone + Send + Sync + 'static {
    type Answer: Send + 'static;

    const OPERATION: Operation;

    /// The values that stay in the host. Calls without secrets have no network either.
    fn take_secrets(&mut self) -> Option<SecretValues> {
        None
    }

    /// Which object it is about, for the log.
    fn subject(&self) -> String;

    /// Asks. The outer error is the engine's.
    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<Self::Answer>>>;
}

macro_rules! ask_about_machine {
    ($(#[$doc:meta])* $name:ident, $operation:ident, $answer:ty, $call:ident, $convert:expr) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub(crate) struct $name(pub(crate) MachineRequest);

        impl Ask for $name {
            type Answer = $answer;

            const OPERATION: Operation = Operation::$operation;

            fn take_secrets(&mut self) -> Option<SecretValues> {
                Some(std::mem::take(&mut self.0.secrets))
            }

            fn subject(&self) -> String {
                format!("{}/{}", self.0.machine.namespace, self.0.machine.name)
            }

            fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<$answer>>> {
                let CallContext { driver, store, vault, deadline_ms, recording, .. } = running;
                async move {
                    let request = convert::request(&self.0, deadline_ms);
                    let convert: fn(_, &Vault) -> std::result::Result<$answer, GuestFailure> = $convert;
                    recording.asked(&request);
                    let answer = driver.$call(store, &request).await?;
                    recording.answered(&answer);
                    Ok(match answer {
                        Ok(answer) => convert(answer, vault).map_err(Into::into),
                        Err(error) => Err(convert::error(error, vault)),
                    })
                }
                .boxed()
            }
        }
    };
}

ask_about_machine!(Create, Create, Creation, call_create, convert::creation);
ask_about_machine!(Initialize, Initialize, Vm, call_initialize, convert::vm);
ask_about_machine!(Delete, Delete, Deletion, call_delete, convert::deletion);
ask_about_machine!(GetStatus, GetStatus, Vm, call_get_status, convert::vm);

#[derive(Clone)]
pub(crate) struct Reboot(pub(crate) MachineRequest);

impl Ask for Reboot {
    type Answer = ();

    const OPERATION: Operation = Operation::Reboot;

    fn take_secrets(&mut self) -> Option<SecretValues> {
        Some(std::mem::take(&mut self.0.secrets))
    }

    fn subject(&self) -> String {
        format!("{}/{}", self.0.machine.namespace, self.0.machine.name)
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<()>>> {
        let CallContext { rebooter, store, vault, deadline_ms, recording, .. } = running;
        async move {
            let Some(rebooter) = rebooter else {
                let message = "the driver exports no machinist:provider/reboot";
                return Ok(Err(DriverError::new(Code::Unimplemented, message).into()));
            };
            let request = convert::request(&self.0, deadline_ms);
            recording.asked(&request);
            let answer = rebooter.call_reboot(store, &request).await?;
            recording.answered(&answer);
            Ok(answer.map_err(|error| convert::error(error, vault)))
        }
        .boxed()
    }
}

#[derive(Clone)]
pub(crate) struct DeleteById {
    /// The Machine, with the VM that it keeps.
    pub(crate) request: MachineRequest,
    /// The VM that is to go.
    pub(crate) vm: String,
}

impl Ask for DeleteById {
    type Answer = ();

    const OPERATION: Operation = Operation::DeleteById;

    fn take_secrets(&mut self) -> Option<SecretValues> {
        Some(std::mem::take(&mut self.request.secrets))
    }

    fn subject(&self) -> String {
        format!("{}/{}", self.request.machine.namespace, self.request.machine.name)
    }

    fn ask<'a>(&'a self, running: CallContext<'a>) -> BoxFuture<'a, Result<DriverResult<()>>> {
        let CallContext { id_deleter, store, vault, deadline_ms, recording, .. } = running;
        async move {
            let Some(id_deleter) = id_deleter else {
                let message = "the driver exports no machinist:delete-by-id/delete-by-id";
                return Ok(Err(DriverError::new(Code::Unimplemented, message).into()));
            };
            let request = convert::request(&self.request, deadline_ms);
            recording.asked(&(&request, &self.vm));
            let answer = id_deleter.call_delete_by_id(store, &request, &self.vm).await?;
            recording.answered(&answer);
            Ok(answer.map_err(|error| convert::error(error, vault)))
        }
        .boxed()
    }
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
        let CallContext { driver, store, vault, recording, .. } = running;
        async move {
            let class = convert::class(&self.0.class);
            recording.asked(&(&class, &self.0.cluster, &self.0.token));
            let answer = driver.call_list(store, &class, &self.0.cluster, self.0.token.as_deref()).await?;
            recording.answered(&answer);
            Ok(match answer {
                Ok(page) => convert::page(page).map_err(Into::into),
                Err(error) => Err(convert::error(error, vault)),
            })
        }
        .boxed()
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
        let CallContext { driver, store, vault, recording, .. } = running;
        async move {
            recording.asked(&self.0);
            let answer = driver.call_get_volume_ids(store, &self.0).await?;
            recording.answered(&answer);
            Ok(match answer {
                Ok(ids) => convert::volume_ids(self.0.len(), ids).map_err(Into::into),
                Err(error) => Err(convert::error(error, vault)),
            })
        }
        .boxed()
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
        let CallContext { driver, store, vault, recording, .. } = running;
        async move {
            let class = convert::class(&self.0);
            recording.asked(&class);
            let answer = driver.call_validate_class(store, &class).await?;
            recording.answered(&answer);
            Ok(match answer {
                Ok(warnings) => Ok(convert::warnings(&warnings, vault)),
                Err(error) => Err(convert::error(error, vault)),
            })
        }
        .boxed()
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
        let CallContext { driver, store, recording, .. } = running;
        async move {
            recording.asked(&());
            let about = driver.call_describe(store).await?;
            recording.answered(&about);
            Ok(convert::about(about).map_err(Into::into))
        }
        .boxed()
    }
}
