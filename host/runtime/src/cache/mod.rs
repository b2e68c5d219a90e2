//! Copies of the API servers' objects.
//!
//! One feed for each kind fills one store. Snapshots are shared and immutable: no reader can change a store.
//!
//! | module | what it does |
//! | --- | --- |
//! | `feed` | turns watch events into changes of a store, and reports each change |
//! | `store` | the copies of one kind |
//! | `backoff` | the pauses of a watch that failed |
//! | `refresh` | lists everything again after an outage |
//! | `fields` | fields of the objects that several modules read |
//! | `groups` | values by a property that many of them share |
//! | `node_index` | finds Nodes by VM and by Machine |
//! | `deleted` | objects that an API server reported as gone and that the cache still shows |

mod backoff;
pub(crate) mod deleted;
mod feed;
pub(crate) mod fields;
mod groups;
pub(crate) mod node_index;
mod refresh;
mod store;

pub(crate) use backoff::{WatchedKind, backoff};
pub(crate) use feed::{Change, feed, is_later};
pub(crate) use groups::Groups;
pub(crate) use refresh::Refresh;
pub(crate) use store::{Store, StoreReader};
