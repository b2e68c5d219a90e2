//! Write a cloud driver or a health policy for Machinist in Rust, test it natively, and build a WebAssembly component.
//!
//! | topic | module |
//! | --- | --- |
//! | drivers: the trait to implement, and the tools | [`driver`] |
//! | the same for health policies | [`policy`] |
//! | tests without WebAssembly and without a cloud | `mock` (native builds only) |
//! | the contract | [`bindings`] |
//! | from the host's call to the author's function | `component` |
//! | the log of a call | `log` |
//!
//! A driver is a type that implements [`driver::Driver`]; [`export_driver!`] exports it from the component:
//!
//! ```
//! use machinist_sdk::driver::{
//!     About, Attempt, Capabilities, Class, Creation, Deletion, Driver, Effect, Failure, Fields, Host, HttpRequest,
//!     OfflineHost, Request, Vm, VmState, escaped,
//! };
//! use serde_json::json;
//!
//! struct MyDriver;
//!
//! impl Driver for MyDriver {
//!     fn describe(_: &dyn OfflineHost) -> About {
//!         About {
//!             name: "my".into(),
//!             version: "0.1.0".into(),
//!             providers: vec!["my".into()],
//!             class_schema: None,
//!             capabilities: Capabilities::IDEMPOTENCY_KEY,
//!             consistency_window_ms: 10_000,
//!             hosts: vec!["api.cloud.example".into()],
//!         }
//!     }
//!
//!     fn validate_class(class: &Class, _: &dyn OfflineHost) -> Result<Vec<String>, Failure> {
//!         let spec = Fields::provider_spec(class)?;
//!         spec.needed_text("size")?;
//!         Ok(spec.unknown(&["size"]))
//!     }
//!
//!     fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure> {
//!         let size = Fields::provider_spec(&request.class)?.needed_text("size")?;
//!         let attempt = Attempt { doing: "create the VM", host: "api.cloud.example", effect: Effect::Changes };
//!         let token = host.secrets().needed("token", "the cloud's API token")?.placeholder(&[])?;
//!         let url = format!("https://api.cloud.example/v1/vms/{}", escaped(&request.idempotency_key));
//!         let asked = HttpRequest::put(url)
//!             .header("authorization", format!("Bearer {token}"))
//!             .json(&json!({ "name": request.machine.name, "size": size, "tags": { "cluster": request.cluster } }));
//!         let answer = host.send(&asked).map_err(|error| attempt.no_answer(&error))?;
//!         if !answer.is_success() {
//!             return Err(attempt.refused(&answer, &format!("status {}", answer.status)));
//!         }
//!         let made = attempt.json(&answer)?;
//!         let id = made["id"].as_str().ok_or_else(|| attempt.unexpected("names no id"))?;
//!         Ok(Creation::Created(Vm {
//!             provider_id: format!("my:///{id}"),
//!             node_name: request.machine.name.clone(),
//!             state: VmState::Pending,
//!             addresses: Vec::new(),
//!             failure_domain: None,
//!             conditions: Vec::new(),
//!             last_known_state: None,
//!         }))
//!     }
//!
//!     fn delete(_: &Request, _: &dyn Host) -> Result<Deletion, Failure> {
//!         Ok(Deletion::Deleted(None))
//!     }
//! }
//!
//! machinist_sdk::export_driver!(MyDriver);
//!
//! # fn main() {
//! use machinist_sdk::mock::{MockHost, Place, a_class, a_request, json_answer};
//!
//! let host = MockHost::answering([Ok(json_answer(201, &json!({ "id": "vm-1" })))])
//!     .secret("token", "s3cret-token", &[Place::header("authorization")]);
//! let creation = host.driver::<MyDriver>().create(&a_request(1, &a_class(&json!({ "size": "s" })))).unwrap();
//! assert!(matches!(creation, Creation::Created(vm) if vm.provider_id == "my:///vm-1"));
//! // The cloud saw the token, the driver did not.
//! assert_eq!(host.seen()[0].header_value("authorization"), Some("Bearer s3cret-token"));
//! assert!(!host.sent()[0].header_value("authorization").unwrap().contains("s3cret"));
//! # }
//! ```

#![warn(missing_docs)]

pub mod bindings;
pub mod driver;
#[cfg(not(target_family = "wasm"))]
pub mod mock;
pub mod policy;

mod component;
mod log;

#[doc(hidden)]
pub use component::{Exported, ExportedPolicy};

/// Exports a type that implements [`driver::Driver`] from the component: `export_driver!(MyDriver);`, or
/// `export_driver!(MyDriver, reboot, delete_by_id);` for one that implements [`driver::Reboot`] and
/// [`driver::DeleteById`] as well. The others are `node_id` ([`driver::NodeId`]), `placement` ([`driver::Placement`]),
/// `interruption` ([`driver::Interruption`]) and `capacity` ([`driver::Capacity`]).
///
/// Does nothing in native builds, so that tests link.
#[macro_export]
macro_rules! export_driver {
    ($driver:ty) => {
        #[cfg(target_family = "wasm")]
        mod machinist_component {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::provider::export!(Component with_types_in $crate::bindings::provider);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_driver<D: $crate::driver::Driver>() {}
            is_driver::<$driver>();
        };
    };
    ($driver:ty, $($optional:ident),+) => {
        $crate::export_driver!($driver);
        $($crate::export_optional!($driver, $optional);)+
    };
}

/// One optional interface of a driver. Use [`export_driver`].
#[doc(hidden)]
#[macro_export]
macro_rules! export_optional {
    ($driver:ty, delete_by_id) => {
        #[cfg(target_family = "wasm")]
        mod machinist_delete_by_id {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::id_deleter::export!(Component with_types_in $crate::bindings::id_deleter);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn can_delete_by_id<D: $crate::driver::DeleteById>() {}
            can_delete_by_id::<$driver>();
        };
    };
    ($driver:ty, node_id) => {
        #[cfg(target_family = "wasm")]
        mod machinist_node_id {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::node_namer::export!(Component with_types_in $crate::bindings::node_namer);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn offers_node_id<D: $crate::driver::NodeId>() {}
            offers_node_id::<$driver>();
        };
    };
    ($driver:ty, placement) => {
        #[cfg(target_family = "wasm")]
        mod machinist_placement {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::placer::export!(Component with_types_in $crate::bindings::placer);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn offers_placement<D: $crate::driver::Placement>() {}
            offers_placement::<$driver>();
        };
    };
    ($driver:ty, interruption) => {
        #[cfg(target_family = "wasm")]
        mod machinist_interruption {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::interruption_teller::export!(
                Component with_types_in $crate::bindings::interruption_teller
            );
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn offers_interruption<D: $crate::driver::Interruption>() {}
            offers_interruption::<$driver>();
        };
    };
    ($driver:ty, capacity) => {
        #[cfg(target_family = "wasm")]
        mod machinist_capacity {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::capacity_teller::export!(Component with_types_in $crate::bindings::capacity_teller);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn offers_capacity<D: $crate::driver::Capacity>() {}
            offers_capacity::<$driver>();
        };
    };
    ($driver:ty, reboot) => {
        #[cfg(target_family = "wasm")]
        mod machinist_reboot {
            use super::*;
            type Component = $crate::Exported<$driver>;
            $crate::bindings::rebooter::export!(Component with_types_in $crate::bindings::rebooter);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn can_reboot<D: $crate::driver::Reboot>() {}
            can_reboot::<$driver>();
        };
    };
}

/// Exports a type that implements [`policy::Policy`] from the component. Does nothing in native builds, so that tests
/// link.
#[macro_export]
macro_rules! export_policy {
    ($policy:ty) => {
        #[cfg(target_family = "wasm")]
        mod machinist_component {
            use super::*;
            type Component = $crate::ExportedPolicy<$policy>;
            $crate::bindings::policy::export!(Component with_types_in $crate::bindings::policy);
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_policy<P: $crate::policy::Policy>() {}
            is_policy::<$policy>();
        };
    };
}
