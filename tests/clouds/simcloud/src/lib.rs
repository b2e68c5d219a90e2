//! The simulated cloud: VMs over HTTP, with faults.
//!
//! [`Cloud`] is the model: plain memory, no clock, no thread, no socket. It gets a [`Request`] and the time, and
//! gives an [`Answer`] together with how long the answer takes and how it arrives. [`Server`] puts the model behind
//! HTTP. A simulator calls the model in its own process under simulated time.
//!
//! `API.md` beside this crate is the page from which drivers are written.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cloud` | the model: all of the cloud's state, changed by calls and by time alone |
//! | `config` | the parts of the cloud: accounts, regions, types, images, latencies |
//! | `request`, `route` | a call without the wire, and the operation that it asks for |
//! | `wire` | VMs on the wire: the fields of requests and answers |
//! | `server` | the model behind HTTP, on threads of its own |
//! | `lagged` | a value whose changes become visible late |
//! | `index` | finds objects by account, name or tag without reading all of them |
//! | `stats` | counts calls and VMs |

mod cloud;
mod config;
mod index;
mod lagged;
mod request;
mod route;
mod server;
mod stats;
mod wire;

pub use cloud::Cloud;
pub use cloud::faults::{Capacity, Effect, Faults, Match, Rule};
pub use cloud::journal::{Changes, Event, EventKind, EventVm};
pub use config::{AccountConfig, Config, InstanceType, Latency, Role, Token};
pub use request::{Method, Request};
pub use server::{Server, StartError};
pub use stats::{Stats, VmCounts};
pub use wire::answer::{Answer, Delivery};
pub use wire::error::{ApiError, Code};
pub use wire::volumes::{AttachVolume, CreateVolume, VolumePage, VolumeState, VolumeView};
pub use wire::{
    Address, AttachedVolume, CreateVm, Initialize, PatchTags, VmPage, VmState, VmView, VolumeRequest,
};
