//! The contract as Rust types, generated from `wit/provider/0.1.0`.
//!
//! One module a major version of the contract: a later one gets its own `bindgen!` beside this, and conversions go to
//! the newest only.

#![allow(unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/provider/0.1.0",
    world: "machinist:provider/provider",
    imports: { default: trappable },
    exports: { default: async },
    require_store_data_send: true,
    // Recordings hold what is asked and answered.
    additional_derives: [serde::Serialize, serde::Deserialize],
    with: {
        "machinist:host/secrets.secret": crate::calls::guest::secrets::SecretHandle,
        "wasi:io": wasmtime_wasi::p2::bindings::io,
        "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
        "wasi:random": wasmtime_wasi::p2::bindings::random,
        "wasi:http": wasmtime_wasi_http::p2::bindings::http,
    },
});

impl serde::Serialize for machinist::provider::types::Capabilities {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = [
            ("status", Self::STATUS),
            ("initialize", Self::INITIALIZE),
            ("listing", Self::LISTING),
            ("volume-ids", Self::VOLUME_IDS),
            ("idempotency-key", Self::IDEMPOTENCY_KEY),
        ];
        serializer
            .collect_seq(known.into_iter().filter(|(_, flag)| self.contains(*flag)).map(|(name, _)| name))
    }
}

impl<'de> serde::Deserialize<'de> for machinist::provider::types::Capabilities {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = <Vec<String> as serde::Deserialize>::deserialize(deserializer)?;
        names.iter().try_fold(Self::empty(), |flags, name| {
            Ok(flags
                | match name.as_str() {
                    "status" => Self::STATUS,
                    "initialize" => Self::INITIALIZE,
                    "listing" => Self::LISTING,
                    "volume-ids" => Self::VOLUME_IDS,
                    "idempotency-key" => Self::IDEMPOTENCY_KEY,
                    other => {
                        return Err(serde::de::Error::custom(format!("there is no capability {other:?}")));
                    }
                })
        })
    }
}
