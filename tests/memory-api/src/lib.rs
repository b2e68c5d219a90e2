//! An API server in memory, behind `kube::Client`, without sockets.
//!
//! It follows the rules of a real one as far as controllers can tell: versions, generations, subresources, finalizers,
//! preconditions, merge patches, selectors, scales, owners, listings in pages, watches with bookmarks that end and
//! expire, grace periods of pods, evictions under disruption budgets. The same script of requests runs against it and
//! against a real one.
//!
//! | module | what it does |
//! | --- | --- |
//! | `serve` | from HTTP requests to the store and back |
//! | `wire` | the wire between hosts and the outside: calls are recorded, counted, disturbed |
//! | `store` | the objects, their versions, and the rules by which they change |
//! | `object` | one version of one object, and its place |
//! | `kinds` | the kinds that the server keeps |
//! | `scope` | the objects that a listing or watch is about |
//! | `history` | the history of changes, and its watchers |
//! | `merge` | JSON merge patches, and strategic ones for a few lists |
//! | `scale` | the subresource that scales objects of any kind |
//! | `deletion` | deletes objects: at once, after a grace period, or without finalizers |
//! | `garbage` | the garbage collector of kube-controller-manager, one round at a time |
//! | `pods` | the special rules of pods: grace periods, and evictions under budgets |
//! | `budgets` | finds the budgets that may select a pod, without reading all of them |
//! | `refusal` | answers that say no |
//! | `conformance` | one script of requests for this server and for a real one |
#![expect(clippy::result_large_err, reason = "a refusal is the answer to a request, made once and sent")]

mod budgets;
pub mod conformance;
mod deletion;
mod garbage;
mod history;
mod kinds;
mod merge;
mod object;
mod pods;
mod refusal;
mod scale;
mod scope;
mod serve;
mod store;
pub mod wire;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use deletion::DeleteOptions;
pub use deletion::{FOREGROUND, ORPHAN, Propagation};
use object::Key;
pub use pods::{covers, is_ready};
pub use refusal::Refusal;
use store::{Outcome, Part, Store};
use wire::Wire;

/// The object as it is after a request, or why not.
pub type Answer = Result<Value, Refusal>;

/// A change of one object, at the moment when it happens.
#[derive(Debug)]
pub struct Change<'a> {
    pub actor: &'a str,
    pub is_eviction: bool,
    pub plural: &'static str,
    /// The object before the change.
    pub old: Option<&'a Value>,
    /// The object after the change; `None` when the object is gone.
    pub new: Option<&'a Value>,
}

/// Gets each change while the server is locked: it must not send requests to the server.
pub type Observer = dyn Fn(&Change<'_>) + Send + Sync;

/// The actor of requests without a name.
pub const USER: &str = "user";

#[derive(Clone)]
pub struct ApiServer {
    store: Arc<Mutex<Store>>,
    wire: Wire,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Requests of everyone but the hosts. They are not sent over the wire.
impl ApiServer {
    /// An empty server. `clock` says what time it is.
    pub fn new(wire: Wire, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { store: Arc::default(), wire, clock: Arc::new(clock) }
    }

    /// A server whose uids are other ones than those of servers with another number, below 4,096.
    #[must_use]
    pub fn with_uids(self, space: u16) -> Self {
        self.lock(USER).uid_space = space;
        self
    }

    /// Lets somebody see all changes.
    pub fn observe(&self, observer: impl Fn(&Change<'_>) + Send + Sync + 'static) {
        self.lock(USER).observer = Some(Arc::new(observer));
    }

    /// Remembers so many changes; watchers from before them must list again.
    pub fn remember(&self, changes: usize) {
        self.lock(USER).history.limit = changes;
    }

    /// Creates an object; its namespace and name are in it.
    pub fn create(&self, plural: &str, object: &Value) -> Answer {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let kind = kinds::of(plural);
        let key = (kind.plural, text("namespace"), text("name"));
        value(self.lock(USER).create(kind, key, object, (self.clock)()))
    }

    /// The object of `namespace/name`, or `name` where there are no namespaces.
    pub fn find(&self, plural: &str, path: &str) -> Option<Value> {
        value(self.lock(USER).get(&key(plural, path))).ok()
    }

    /// All objects of a resource.
    pub fn all(&self, plural: &str) -> Vec<Value> {
        self.collect(plural, |object| Some(object.clone()))
    }

    /// Applies `choose` to the objects of a resource.
    pub fn collect<T>(&self, plural: &str, choose: impl Fn(&Value) -> Option<T>) -> Vec<T> {
        self.lock(USER).all(kinds::of(plural), "").filter_map(|object| choose(object)).collect()
    }

    /// How many objects there are of a resource.
    pub fn count(&self, plural: &str) -> usize {
        self.lock(USER).all(kinds::of(plural), "").count()
    }

    /// Applies a merge patch to everything but the status.
    pub fn edit(&self, plural: &str, path: &str, patch: &Value) -> Answer {
        value(self.lock(USER).patch(kinds::of(plural), key(plural, path), patch, Part::Main))
    }

    /// Applies a merge patch to the status.
    pub fn edit_status(&self, plural: &str, path: &str, patch: &Value) -> Answer {
        value(self.lock(USER).patch(kinds::of(plural), key(plural, path), patch, Part::Status))
    }

    /// Asks for the deletion of an object.
    pub fn delete(&self, plural: &str, path: &str) -> Answer {
        self.delete_within(plural, path, None)
    }

    /// As `delete`, with a grace period in seconds, which counts for pods.
    pub fn delete_within(&self, plural: &str, path: &str, grace: Option<i64>) -> Answer {
        let options = DeleteOptions { grace, ..DeleteOptions::default() };
        let now = (self.clock)();
        value(self.lock(USER).delete(kinds::of(plural), &key(plural, path), &options, now))
    }

    /// As `delete`, with the propagation to the object's dependents. [`Self::collect_garbage`] carries it out.
    pub fn delete_with(&self, plural: &str, path: &str, propagation: Propagation) -> Answer {
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        let now = (self.clock)();
        value(self.lock(USER).delete(kinds::of(plural), &key(plural, path), &options, now))
    }

    /// Asks for a number of replicas, as `kubectl scale` does.
    pub fn scale(&self, plural: &str, path: &str, replicas: usize) -> Answer {
        let scale = serde_json::json!({ "spec": { "replicas": replicas } });
        value(self.lock(USER).patch_scale(kinds::of(plural), key(plural, path), &scale))
    }

    /// Drops `status.machinist` from now on, as under CRDs that do not have it.
    pub fn prune_own_status(&self) {
        self.lock(USER).prunes_own_status = true;
    }

    /// Lets the events of watches be late.
    pub fn delay_watches(&self, lag: Duration) {
        self.lock(USER).history.lag = lag;
    }

    /// Ends the watches of an actor, of one resource or of all.
    pub fn drop_watches(&self, actor: &str, plural: Option<&str>) {
        self.lock(USER).history.drop_watches(actor, plural);
    }

    /// Forgets the past: watches that begin before now must list again.
    pub fn compact(&self) {
        let mut store = self.lock(USER);
        let version = store.version();
        store.history.compact(version);
    }

    fn lock(&self, actor: &str) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock().unwrap();
        if store.actor != actor {
            actor.clone_into(&mut store.actor);
        }
        store
    }
}

fn value(outcome: Outcome) -> Answer {
    outcome.map(|object| Value::clone(&object))
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
