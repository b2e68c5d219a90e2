//! From a module to a component.

use anyhow::Result;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::contract::World;

/// Makes a component of the compiled module. Omits exports that the world does not have.
pub(crate) fn component(module: &[u8], world: &World) -> Result<Vec<u8>> {
    let (resolve, id) = world.resolve()?;
    let mut module = module.to_vec();
    embed_component_metadata(&mut module, &resolve, id, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
}
