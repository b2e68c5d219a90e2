//! Local copies of what the API servers hold.
//!
//! One feed a kind fills one store. Snapshots are shared and immutable: nothing that reads a store can change it.

mod backoff;
pub(crate) mod departed;
mod feed;
pub(crate) mod node_index;
mod refresh;
mod store;

pub(crate) use backoff::{Watch, backoff};
pub(crate) use feed::{Change, feed};
pub(crate) use refresh::Refresh;
pub(crate) use store::{Store, StoreReader};
