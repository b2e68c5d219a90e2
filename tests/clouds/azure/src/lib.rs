//! A cloud like Azure, for tests.
//!
//! The models are Microsoft's own (`models/generate.mjs`): the cloud refuses wrong requests, and its answers have the
//! form of Azure's. Around them are resources with a state, operations that take time and fail,
//! tokens, quotas and faults. `API.md` beside this crate says what is there and what is not.
//!
//! [`Cloud`] is a plain value: a request and the time in, an answer out. [`Server`] puts it behind HTTP and HTTPS.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cloud` | Azure as a value: its resources, operations, tokens and counts |
//! | `requests` | the way of a request: fault, token, throttling, route |
//! | `wire` | requests and answers, and errors in Azure's form |
//! | `models` | checks bodies against Microsoft's models |
//! | `options` | the subscription, its networks, images, sizes and rights |
//! | `state` | resources, operations and tokens |
//! | `arm` | virtual machines, network interfaces, disks, the catalogue, Resource Graph |
//! | `tokens` | Microsoft Entra's token endpoint |
//! | `certificates` | client assertions that a certificate signs |
//! | `faults` | faults that tests order |
//! | `live` | VMs as kubelets see them, and how many were created |
//! | `admin` | a back door for tests: looks at VMs, and makes some |
//! | `server` | HTTP on loopback, and HTTPS |
//! | `tls` | the certificate of HTTPS |

mod admin;
mod arm;
#[cfg(feature = "tls")]
mod certificates;
mod cloud;
mod faults;
mod live;
mod models;
mod options;
mod requests;
mod server;
mod state;
#[cfg(feature = "tls")]
mod tls;
mod tokens;
mod wire;

pub use cloud::Cloud;
pub use faults::{Effect, Faults, Rule};
pub use live::VirtualMachine;
pub use models::problems;
pub use options::{Agreement, Client, ImageOffer, Options, Size, Subnet};
pub use requests::Reply;
pub use server::Server;
pub use state::{Kind, Resource, State, UID_TAG};
pub use wire::{Request, Response};
