//! From a watch to a store, and to whoever wants to know of changes.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use kube::core::DeserializeGuard;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use machinist_core::id::ObjectKey;
use tracing::{debug, warn};

use super::store::Store;

/// A change of one object, after the store has it.
#[derive(Debug)]
pub(crate) struct Change<T> {
    /// Which object.
    pub key: ObjectKey,
    /// What was there before.
    pub old: Option<Arc<T>>,
    /// What is there; `None` when the object is gone.
    pub new: Option<Arc<T>>,
    /// The version of this change.
    pub resource_version: String,
    /// It comes from a listing. Versions in a listing follow no order.
    pub is_listed: bool,
}

/// Runs until the stream ends. `trim` takes away what nobody reads before an object is kept. `on_change` is told of each
/// change, `on_synced` of each complete listing, with the highest version in it: everything up to there has been told.
///
/// An object that cannot be decoded is left out and logged: it harms only itself.
pub(crate) async fn feed<T>(
    stream: impl Stream<Item = Result<watcher::Event<DeserializeGuard<T>>, watcher::Error>>,
    store: &Store<T>,
    trim: impl Fn(&mut T),
    on_change: impl Fn(Change<T>),
    on_synced: impl Fn(String),
) where
    T: Resource<DynamicType = ()> + Clone + Debug,
{
    let kind = T::kind(&()).into_owned();
    // The keys that a listing has not shown yet: what is left at its end is gone.
    let mut unseen: Option<BTreeSet<ObjectKey>> = None;
    let mut highest = String::new();
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(watcher::Event::Init) => {
                unseen = Some(store.keys().into_iter().collect());
                highest.clear();
            }
            Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                let Some((key, object)) = decoded(&kind, object, &trim) else { continue };
                let resource_version = object.resource_version().unwrap_or_default();
                let is_listed = unseen.is_some();
                if let Some(unseen) = &mut unseen {
                    unseen.remove(&key);
                    if is_later(&resource_version, &highest) {
                        highest.clone_from(&resource_version);
                    }
                }
                let old = store.insert(key.clone(), object.clone());
                on_change(Change { key, old, new: Some(object), resource_version, is_listed });
            }
            Ok(watcher::Event::InitDone) => {
                for key in unseen.take().into_iter().flatten() {
                    let old = store.remove(&key);
                    let resource_version = String::new();
                    on_change(Change { key, old, new: None, resource_version, is_listed: true });
                }
                store.mark_synced();
                on_synced(std::mem::take(&mut highest));
            }
            Ok(watcher::Event::Delete(object)) => {
                let metadata = match object.0 {
                    Ok(object) => object.meta().clone(),
                    Err(invalid) => invalid.metadata,
                };
                let key = key_of(&metadata);
                let old = store.remove(&key);
                let resource_version = metadata.resource_version.unwrap_or_default();
                on_change(Change { key, old, new: None, resource_version, is_listed: false });
            }
            // The stream backs off by itself and lists anew where it must.
            Err(error) => debug!(kind, error = %error, "watch interrupted"),
        }
    }
}

/// Versions are decimal numbers of any length; what is none is never later.
fn is_later(version: &str, than: &str) -> bool {
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (version.len(), version) > (than.len(), than)
}

fn decoded<T>(kind: &str, object: DeserializeGuard<T>, trim: &impl Fn(&mut T)) -> Option<(ObjectKey, Arc<T>)>
where
    T: Resource<DynamicType = ()>,
{
    match object.0 {
        Ok(mut object) => {
            object.meta_mut().managed_fields = None;
            trim(&mut object);
            Some((key_of(object.meta()), Arc::new(object)))
        }
        Err(invalid) => {
            warn!(kind, object = %key_of(&invalid.metadata), error = %invalid.error, "object left out: it cannot be decoded");
            None
        }
    }
}

fn key_of(metadata: &kube::core::ObjectMeta) -> ObjectKey {
    ObjectKey::new(
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures::{FutureExt, stream};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::watcher::Event;

    use super::*;

    fn map(name: &str, version: &str) -> DeserializeGuard<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.into());
        map.metadata.resource_version = Some(version.into());
        DeserializeGuard(Ok(map))
    }

    /// What is told of these events, one a line.
    fn told(events: Vec<Event<DeserializeGuard<ConfigMap>>>) -> Vec<String> {
        let told = RefCell::new(Vec::new());
        let on_change = |change: Change<ConfigMap>| {
            let what = if change.new.is_some() { "is" } else { "gone" };
            let whence = if change.is_listed { "listed" } else { "watched" };
            told.borrow_mut()
                .push(format!("{} {what} at {:?} {whence}", change.key, change.resource_version));
        };
        let on_synced = |version| told.borrow_mut().push(format!("all at {version:?}"));
        let events = stream::iter(events.into_iter().map(Ok));
        feed(events, &Store::default(), |_| {}, on_change, on_synced).now_or_never().unwrap();
        told.into_inner()
    }

    #[test]
    fn a_listing_counts_as_a_whole_with_its_highest_version() {
        let events = vec![
            Event::Init,
            Event::InitApply(map("a", "98")),
            Event::InitApply(map("b", "101")),
            Event::InitApply(map("c", "7")),
            Event::InitDone,
            Event::Apply(map("a", "102")),
            Event::Init,
            Event::InitApply(map("c", "7")),
            Event::InitDone,
        ];
        assert_eq!(
            told(events),
            [
                r#"a is at "98" listed"#,
                r#"b is at "101" listed"#,
                r#"c is at "7" listed"#,
                r#"all at "101""#,
                r#"a is at "102" watched"#,
                r#"c is at "7" listed"#,
                r#"a gone at "" listed"#,
                r#"b gone at "" listed"#,
                r#"all at "7""#,
            ]
        );
    }

    #[test]
    fn a_listing_that_breaks_off_takes_nothing_away() {
        let events = vec![
            Event::Init,
            Event::InitApply(map("a", "1")),
            Event::InitApply(map("b", "2")),
            Event::InitDone,
            Event::Init,
            Event::InitApply(map("a", "1")),
            Event::Init,
            Event::InitApply(map("a", "1")),
            Event::InitApply(map("b", "2")),
            Event::InitDone,
        ];
        assert!(told(events).iter().all(|line| !line.contains("gone")));
    }
}
