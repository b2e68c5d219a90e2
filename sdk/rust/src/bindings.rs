//! Rust types generated from the contracts in `wit/`. The other modules are a thin layer over them; most authors need
//! only those modules.

#![allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated: the canonical ABI is pointers and lengths"
)]

/// World `provider`: the exports of every driver, and its imports.
pub mod provider {
    wit_bindgen::generate!({
        path: "wit/provider/0.1.0",
        world: "provider",
        generate_all,
        pub_export_macro: true,
        export_macro_name: "__export_machinist_driver",
        default_bindings_module: "machinist_sdk::bindings::provider",
    });
    pub use __export_machinist_driver as export;
}

/// Optional: restarts of VMs.
pub mod rebooter {
    wit_bindgen::generate!({
        path: "wit/provider/0.1.0",
        world: "rebooter",
        with: { "machinist:provider/types@0.1.0": crate::bindings::provider::machinist::provider::types },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_reboot",
        default_bindings_module: "machinist_sdk::bindings::rebooter",
    });
    pub use __export_machinist_reboot as export;
}

/// Optional: the removal of one VM of two.
pub mod id_deleter {
    wit_bindgen::generate!({
        path: ["wit/provider/0.1.0", "wit/delete-by-id/0.1.0"],
        world: "machinist:delete-by-id/id-deleter",
        with: { "machinist:provider/types@0.1.0": crate::bindings::provider::machinist::provider::types },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_delete_by_id",
        default_bindings_module: "machinist_sdk::bindings::id_deleter",
    });
    pub use __export_machinist_delete_by_id as export;
}

/// Optional: the id that the Node of a VM has.
pub mod node_namer {
    wit_bindgen::generate!({
        path: ["wit/provider/0.1.0", "wit/node-id/0.1.0"],
        world: "machinist:node-id/node-namer",
        with: { "machinist:provider/types@0.1.0": crate::bindings::provider::machinist::provider::types },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_node_id",
        default_bindings_module: "machinist_sdk::bindings::node_namer",
    });
    pub use __export_machinist_node_id as export;
}

/// Optional: VMs in an exact failure domain.
pub mod placer {
    wit_bindgen::generate!({
        path: ["wit/provider/0.1.0", "wit/placement/0.1.0"],
        world: "machinist:placement/placer",
        with: { "machinist:provider/types@0.1.0": crate::bindings::provider::machinist::provider::types },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_placement",
        default_bindings_module: "machinist_sdk::bindings::placer",
    });
    pub use __export_machinist_placement as export;
}

/// Optional: whether the cloud may take VMs away.
pub mod interruption_teller {
    wit_bindgen::generate!({
        path: ["wit/provider/0.1.0", "wit/interruption/0.1.0"],
        world: "machinist:interruption/interruption-teller",
        with: { "machinist:provider/types@0.1.0": crate::bindings::provider::machinist::provider::types },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_interruption",
        default_bindings_module: "machinist_sdk::bindings::interruption_teller",
    });
    pub use __export_machinist_interruption as export;
}

/// Optional: the resources of a Node of a class.
pub mod capacity_teller {
    wit_bindgen::generate!({
        path: ["wit/provider/0.1.0", "wit/capacity/0.1.0"],
        world: "machinist:capacity/capacity-teller",
        with: { "machinist:provider/types@0.1.0": crate::bindings::provider::machinist::provider::types },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_capacity",
        default_bindings_module: "machinist_sdk::bindings::capacity_teller",
    });
    pub use __export_machinist_capacity as export;
}

/// World `health-policy`.
pub mod policy {
    wit_bindgen::generate!({
        path: "wit/policy/0.1.0",
        world: "health-policy",
        with: {
            "machinist:host/log@0.1.0": crate::bindings::provider::machinist::host::log,
            "machinist:policy/types@0.1.0": generate,
        },
        pub_export_macro: true,
        export_macro_name: "__export_machinist_policy",
        default_bindings_module: "machinist_sdk::bindings::policy",
    });
    pub use __export_machinist_policy as export;
}
