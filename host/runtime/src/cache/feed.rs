//! From a watch to a store; each change is reported to the event loop.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use kube::Resource;
use kube::core::{DeserializeGuard, ObjectMeta};
use kube::runtime::watcher;
use machinist_core::value::id::ObjectKey;
use tracing::{debug, warn};

use super::store::Store;

/// A change of one object, after the store has it.
#[derive(Debug)]
pub(crate) struct Change<T> {
    pub key: ObjectKey,
    /// The object before the change.
    pub old: Option<Arc<T>>,
    /// The object after the change; `None` if it is gone.
    pub new: Option<Arc<T>>,
    /// The version of this change.
    pub resource_version: String,
    /// True for an object of a listing. Versions in a listing follow no order.
    pub is_listed: bool,
    /// The metadata of an object that cannot be decoded. `old` and `new` are the copy from before, if there is one.
    pub unreadable: Option<Arc<ObjectMeta>>,
    /// The metadata of an object that could not be decoded before the change.
    pub was_unreadable: Option<Arc<ObjectMeta>>,
}

impl<T> Change<T> {
    /// A change of an object that can be decoded, and could before.
    pub(crate) fn new(key: ObjectKey, old: Option<Arc<T>>, new: Option<Arc<T>>) -> Self {
        Self {
            key,
            old,
            new,
            resource_version: String::new(),
            is_listed: false,
            unreadable: None,
            was_unreadable: None,
        }
    }
}

/// Runs until the stream ends. `trim` removes unused fields before an object is stored. `on_change` is called for each
/// change, `on_synced` for each complete listing, with the highest version in it: every change up to that version was
/// reported.
///
/// An object that cannot be decoded is logged and harms only itself: it is there, as its metadata says, and the copy
/// that was decoded before stays until it is gone.
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
    // Keys that a listing has not shown yet: at its end they are gone.
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
                let is_listed = unseen.is_some();
                let metadata = metadata_of(&object);
                let key = key_of(metadata);
                let resource_version = metadata.resource_version.clone().unwrap_or_default();
                // Before decoding: an object that cannot be decoded exists all the same.
                if let Some(unseen) = &mut unseen {
                    unseen.remove(&key);
                    if is_later(&resource_version, &highest) {
                        highest.clone_from(&resource_version);
                    }
                }
                match decoded(&kind, object, &trim) {
                    Ok(object) => {
                        let was_unreadable = store.unmark(&key);
                        let old = store.insert(key.clone(), object.clone());
                        let change = Change::new(key, old, Some(object));
                        on_change(Change { resource_version, is_listed, was_unreadable, ..change });
                    }
                    Err(metadata) => {
                        let mut copy = store.mark(key.clone(), metadata.clone());
                        if copy.as_ref().is_some_and(|copy| copy.meta().uid != metadata.uid) {
                            // Another object of that name: the copy is of one that is gone.
                            let old = store.remove(&key);
                            on_change(Change { is_listed, ..Change::new(key.clone(), old, None) });
                            copy = None;
                        }
                        let change = Change::new(key, copy.clone(), copy);
                        let unreadable = Some(metadata);
                        on_change(Change { resource_version, is_listed, unreadable, ..change });
                    }
                }
            }
            Ok(watcher::Event::InitDone) => {
                for key in unseen.take().into_iter().flatten() {
                    let was_unreadable = store.unmark(&key);
                    let old = store.remove(&key);
                    on_change(Change { is_listed: true, was_unreadable, ..Change::new(key, old, None) });
                }
                store.mark_synced();
                on_synced(std::mem::take(&mut highest));
            }
            Ok(watcher::Event::Delete(object)) => {
                let metadata = metadata_of(&object);
                let key = key_of(metadata);
                let resource_version = metadata.resource_version.clone().unwrap_or_default();
                let was_unreadable = store.unmark(&key);
                let old = store.remove(&key);
                on_change(Change { resource_version, was_unreadable, ..Change::new(key, old, None) });
            }
            // The stream backs off and lists again where it must.
            Err(error) => debug!(kind, error = %error, "watch interrupted"),
        }
    }
}

/// Versions are decimal numbers of any length; any other text is never later.
pub(crate) fn is_later(version: &str, than: &str) -> bool {
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (version.len(), version) > (than.len(), than)
}

/// The object, or the metadata of one that cannot be decoded.
fn decoded<T>(
    kind: &str,
    object: DeserializeGuard<T>,
    trim: &impl Fn(&mut T),
) -> Result<Arc<T>, Arc<ObjectMeta>>
where
    T: Resource<DynamicType = ()>,
{
    match object.0 {
        Ok(mut object) => {
            object.meta_mut().managed_fields = None;
            trim(&mut object);
            Ok(Arc::new(object))
        }
        Err(invalid) => {
            let mut metadata = invalid.metadata;
            metadata.managed_fields = None;
            warn!(kind, object = %key_of(&metadata), error = %invalid.error, "object cannot be decoded and is left alone");
            Err(Arc::new(metadata))
        }
    }
}

fn metadata_of<T: Resource<DynamicType = ()>>(object: &DeserializeGuard<T>) -> &ObjectMeta {
    match &object.0 {
        Ok(object) => object.meta(),
        Err(invalid) => &invalid.metadata,
    }
}

fn key_of(metadata: &ObjectMeta) -> ObjectKey {
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

    /// Returns the reports of these events, one for each line.
    fn reports(events: Vec<Event<DeserializeGuard<ConfigMap>>>) -> Vec<String> {
        let reports = RefCell::new(Vec::new());
        let on_change = |change: Change<ConfigMap>| {
            let what = match (&change.unreadable, &change.new) {
                (Some(_), Some(_)) => "stays unread",
                (Some(_), None) => "is unread",
                (None, Some(_)) => "is",
                (None, None) => "gone",
            };
            let whence = if change.is_listed { "listed" } else { "watched" };
            reports
                .borrow_mut()
                .push(format!("{} {what} at {:?} {whence}", change.key, change.resource_version));
        };
        let on_synced = |version| reports.borrow_mut().push(format!("all at {version:?}"));
        let events = stream::iter(events.into_iter().map(Ok));
        feed(events, &Store::default(), |_| {}, on_change, on_synced).now_or_never().unwrap();
        reports.into_inner()
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
            reports(events),
            [
                r#"a is at "98" listed"#, r#"b is at "101" listed"#, r#"c is at "7" listed"#,
                r#"all at "101""#, r#"a is at "102" watched"#, r#"c is at "7" listed"#,
                r#"a gone at "" listed"#, r#"b gone at "" listed"#, r#"all at "7""#,
            ]
        );
    }

    fn unreadable(name: &str, uid: &str, version: &str) -> DeserializeGuard<ConfigMap> {
        let value = serde_json::json!({
            "metadata": { "name": name, "uid": uid, "resourceVersion": version }, "data": 7,
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_object_that_cannot_be_decoded_is_there_and_its_copy_stays_until_it_is_gone() {
        let with_uid = |version: &str| {
            let mut object = map("a", version).0.unwrap();
            object.metadata.uid = Some("u".into());
            DeserializeGuard(Ok(object))
        };
        let events = vec![
            Event::Init,
            Event::InitApply(with_uid("1")),
            Event::InitApply(unreadable("b", "v", "2")),
            Event::InitDone,
            Event::Apply(unreadable("a", "u", "3")),
            Event::Init,
            Event::InitApply(unreadable("a", "u", "3")),
            Event::InitDone,
            Event::Apply(unreadable("a", "another", "5")),
            Event::Delete(unreadable("a", "another", "6")),
        ];
        assert_eq!(
            reports(events),
            [
                r#"a is at "1" listed"#, r#"b is unread at "2" listed"#, r#"all at "2""#,
                r#"a stays unread at "3" watched"#, r#"a stays unread at "3" listed"#,
                r#"b gone at "" listed"#, r#"all at "3""#, r#"a gone at "" watched"#,
                r#"a is unread at "5" watched"#, r#"a gone at "6" watched"#,
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
        assert!(reports(events).iter().all(|line| !line.contains("gone")));
    }
}
