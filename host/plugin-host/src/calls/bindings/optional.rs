//! The exports that a driver may have beside `driver`, as Rust types.

#![allow(unreachable_pub, clippy::all, reason = "generated code")]

use machinist_core::driver::Capabilities;
use machinist_core::driver::error::{Code, DriverError};
use wasmtime::Store;
use wasmtime::component::{Component, Instance, InstancePre};

use crate::calls::bindings::driver::exports::machinist::provider::driver::Guest;
use crate::calls::bindings::driver::{Provider, ProviderIndices};
use crate::calls::guest::GuestState;

wasmtime::component::bindgen!({
    path: "../../wit/provider/0.1.0",
    world: "machinist:provider/rebooter",
    imports: { default: trappable },
    exports: { default: async },
    require_store_data_send: true,
    with: {
        "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
    },
});

/// One VM of two, by its id.
pub(crate) mod delete_by_id {
    wasmtime::component::bindgen!({
        path: ["../../wit/provider/0.1.0", "../../wit/delete-by-id/0.1.0"],
        world: "machinist:delete-by-id/id-deleter",
        imports: { default: trappable },
        exports: { default: async },
        require_store_data_send: true,
        with: {
            "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
        },
    });
}

/// The id that the Node of a VM has.
pub(crate) mod node_id {
    wasmtime::component::bindgen!({
        path: ["../../wit/provider/0.1.0", "../../wit/node-id/0.1.0"],
        world: "machinist:node-id/node-namer",
        imports: { default: trappable },
        exports: { default: async },
        require_store_data_send: true,
        with: {
            "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
        },
    });
}

/// VMs in an exact failure domain.
pub(crate) mod placement {
    wasmtime::component::bindgen!({
        path: ["../../wit/provider/0.1.0", "../../wit/placement/0.1.0"],
        world: "machinist:placement/placer",
        imports: { default: trappable },
        exports: { default: async },
        require_store_data_send: true,
        with: {
            "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
        },
    });
}

/// Whether the cloud may take VMs of a class away at any time.
pub(crate) mod interruption {
    wasmtime::component::bindgen!({
        path: ["../../wit/provider/0.1.0", "../../wit/interruption/0.1.0"],
        world: "machinist:interruption/interruption-teller",
        imports: { default: trappable },
        exports: { default: async },
        require_store_data_send: true,
        with: {
            "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
        },
    });
}

/// The resources of a Node of a class.
pub(crate) mod capacity {
    wasmtime::component::bindgen!({
        path: ["../../wit/provider/0.1.0", "../../wit/capacity/0.1.0"],
        world: "machinist:capacity/capacity-teller",
        imports: { default: trappable },
        exports: { default: async },
        require_store_data_send: true,
        additional_derives: [serde::Serialize, serde::Deserialize],
        with: {
            "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
        },
    });
}

/// Makes the exports of a driver out of a table: one row for each that it may leave out.
macro_rules! optional_exports {
    ($(
        $export:ident: $loaded:ty, $indices:ty, $get:ident -> $guest:ty, $interface:literal, $version:literal;
    )+) => {
        pub(crate) struct ExportIndices {
            driver: ProviderIndices,
            $($export: Option<$indices>,)+
        }

        /// The exports of an instance.
        pub(crate) struct Exports {
            driver: Provider,
            $($export: Option<$loaded>,)+
        }

        impl ExportIndices {
            /// A function that is not exported is not offered; an exported one must have the right type.
            pub(crate) fn of(component: &Component, pre: &InstancePre<GuestState>) -> wasmtime::Result<Self> {
                $(
                    // A compatible later version is found by this name too.
                    let name = concat!($interface, "@", $version);
                    let is_offered = component.get_export_index(None, name).is_some();
                    let $export = is_offered.then(|| <$indices>::new(pre)).transpose()?;
                )+
                Ok(Self { driver: ProviderIndices::new(pre)?, $($export,)+ })
            }

            pub(crate) fn load(
                &self,
                store: &mut Store<GuestState>,
                instance: &Instance,
            ) -> wasmtime::Result<Exports> {
                $(
                    let $export =
                        self.$export.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?;
                )+
                Ok(Exports { driver: self.driver.load(&mut *store, instance)?, $($export,)+ })
            }

            /// Adds what the exports say to what the driver says.
            pub(crate) fn add_to(&self, capabilities: &mut Capabilities) {
                $(capabilities.$export = self.$export.is_some();)+
            }
        }

        impl Exports {
            pub(crate) fn required(&self) -> &Guest {
                self.driver.machinist_provider_driver()
            }

            pub(crate) fn driver(&self) -> Result<&Guest, DriverError> {
                Ok(self.required())
            }

            $(pub(crate) fn $export(&self) -> Result<&$guest, DriverError> {
                let missing = concat!("the driver exports no ", $interface);
                let export = self.$export.as_ref().map(<$loaded>::$get);
                export.ok_or_else(|| DriverError::new(Code::Unimplemented, missing))
            })+
        }
    };
}

// The name is also that of the capability.
optional_exports! {
    reboot: Rebooter, RebooterIndices,
        machinist_provider_reboot -> exports::machinist::provider::reboot::Guest,
        "machinist:provider/reboot", "0.1.0";
    delete_by_id: delete_by_id::IdDeleter, delete_by_id::IdDeleterIndices,
        machinist_delete_by_id_delete_by_id -> delete_by_id::exports::machinist::delete_by_id::delete_by_id::Guest,
        "machinist:delete-by-id/delete-by-id", "0.1.0";
    node_id: node_id::NodeNamer, node_id::NodeNamerIndices,
        machinist_node_id_node_id -> node_id::exports::machinist::node_id::node_id::Guest,
        "machinist:node-id/node-id", "0.1.0";
    placement: placement::Placer, placement::PlacerIndices,
        machinist_placement_placement -> placement::exports::machinist::placement::placement::Guest,
        "machinist:placement/placement", "0.1.0";
    interruption: interruption::InterruptionTeller, interruption::InterruptionTellerIndices,
        machinist_interruption_interruption -> interruption::exports::machinist::interruption::interruption::Guest,
        "machinist:interruption/interruption", "0.1.0";
    capacity: capacity::CapacityTeller, capacity::CapacityTellerIndices,
        machinist_capacity_capacity -> capacity::exports::machinist::capacity::capacity::Guest,
        "machinist:capacity/capacity", "0.1.0";
}
