//! An API server in memory, behind `kube::Client`, without sockets.
//!
//! It follows the rules of a real one as far as controllers can tell: versions, generations, subresources, finalizers,
//! preconditions, merge patches, listings in pages, watches that end and expire.

mod history;
mod kinds;
mod merge;
mod refusal;
mod serve;
mod store;
pub mod wire;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::wire::Wire;
pub use refusal::Refusal;
use store::{Answer, Key, Part, Store};

/// One API server.
#[derive(Clone)]
pub struct ApiServer {
    store: Arc<Mutex<Store>>,
    wire: Wire,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// What everyone but the hosts does. It does not go over the wire.
impl ApiServer {
    /// An empty server. `clock` says what time it is.
    pub fn new(wire: Wire, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { store: Arc::default(), wire, clock: Arc::new(clock) }
    }

    /// Creates an object; its kind, namespace and name are in it.
    pub fn create(&self, plural: &str, object: &Value) -> Answer {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let kind = kinds::of(plural);
        self.lock().create(kind, (kind.plural, namespace, name), object, (self.clock)())
    }

    /// The object of `namespace/name`, or `name` where there are no namespaces.
    pub fn find(&self, plural: &str, path: &str) -> Option<Value> {
        self.lock().get(&key(plural, path)).ok()
    }

    /// All objects of a resource.
    pub fn all(&self, plural: &str) -> Vec<Value> {
        self.lock().all(kinds::of(plural), "")
    }

    /// Applies a merge patch to everything but the status.
    pub fn edit(&self, plural: &str, path: &str, patch: &Value) -> Answer {
        self.lock().patch(kinds::of(plural), key(plural, path), patch, Part::Main)
    }

    /// Applies a merge patch to the status.
    pub fn edit_status(&self, plural: &str, path: &str, patch: &Value) -> Answer {
        self.lock().patch(kinds::of(plural), key(plural, path), patch, Part::Status)
    }

    /// Asks for the deletion of an object.
    pub fn delete(&self, plural: &str, path: &str) -> Answer {
        self.lock().delete(kinds::of(plural), key(plural, path), &Value::Null, (self.clock)())
    }

    /// Drops `status.machinist` from now on, as under CRDs that do not have it.
    pub fn prune_own_status(&self) {
        self.lock().prunes_own_status = true;
    }

    /// Lets the events of watches be late.
    pub fn delay_watches(&self, lag: Duration) {
        self.lock().history.lag = lag;
    }

    /// Ends the watches of an actor, of one resource or of all.
    pub fn drop_watches(&self, actor: &str, plural: Option<&str>) {
        self.lock().history.drop_watches(actor, plural);
    }

    /// Forgets the past: watches that begin before now must list anew.
    pub fn compact(&self) {
        let mut store = self.lock();
        let version = store.version();
        store.history.compact(version);
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }
}

fn key(plural: &str, path: &str) -> Key {
    let (namespace, name) = path.split_once('/').unwrap_or(("", path));
    (kinds::of(plural).plural, namespace.to_owned(), name.to_owned())
}

/// Base64, as the data of Secrets are written.
pub fn encode(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The text in a field of a Secret's data.
pub fn decode(field: &Value) -> String {
    use base64::Engine;
    let text = field.as_str().unwrap_or_default();
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
}
