//! Follows one object by its name: by a watch where the account may watch it, else by reads.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::debug;

/// One object, which may be there or not.
pub struct OneObject<K> {
    api: Api<K>,
    name: String,
    /// `None`: the account may not watch it.
    watch: Option<BoxStream<'static, watcher::Result<Option<K>>>>,
    /// The pause between two reads.
    every: Duration,
    /// When the next read is due.
    due: Instant,
}

impl<K> OneObject<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    /// Follows the object `name`. Without the right to watch it, it is read `every` so often. `backoff` has the pauses
    /// after errors of a watch.
    pub fn new(api: Api<K>, name: &str, every: Duration, backoff: impl Backoff + 'static) -> Self {
        let watch = watcher::watch_object(api.clone(), name).backoff(backoff).boxed();
        Self { api, name: name.to_owned(), watch: Some(watch), every, due: Instant::now() }
    }

    /// Waits until the object may have changed, and returns it; first, as it is. A caller that does not wait to the end
    /// loses nothing.
    ///
    /// # Errors
    /// When the API server does not say whether the object is there. The next call tries again, after a pause.
    pub async fn next(&mut self) -> Result<Option<K>, kube::Error> {
        if let Some(watch) = &mut self.watch {
            match watch.next().await.map(|event| event.map_err(request_error)) {
                Some(Ok(object)) => return Ok(object),
                Some(Err(Some(error))) if !is_denied(&error) => return Err(error),
                Some(Err(error)) => debug!(name = self.name, ?error, "it is read, since no watch shows it"),
                None => {}
            }
            self.watch = None;
        }
        tokio::time::sleep_until(self.due).await;
        let answer = self.api.get_opt(&self.name).await;
        self.due = Instant::now() + self.every;
        answer
    }
}

/// `None`: the kind cannot be watched.
fn request_error(error: watcher::Error) -> Option<kube::Error> {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Some(error),
        watcher::Error::WatchError(status) => Some(kube::Error::Api(status)),
        watcher::Error::NoResourceVersion => None,
    }
}

fn is_denied(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
