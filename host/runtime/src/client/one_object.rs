//! Follows one object by its name: by a watch where the account may watch it, else by reads.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use machinist_core::driver::write_error::ActError;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::debug;

use super::errors::{act_error, within_deadline};

/// How long it is read before a watch is tried again: the right to it may come later.
const WATCH_AGAIN: Duration = Duration::from_mins(30);

/// One object, which may be there or not.
pub struct OneObject<K> {
    api: Api<K>,
    name: String,
    watch: Watch<K>,
    /// The pause between two reads.
    every: Duration,
    /// When the next read is due.
    due: Instant,
}

enum Watch<K> {
    On(BoxStream<'static, watcher::Result<Option<K>>>),
    /// Nothing is watched until then.
    Off(Instant),
}

impl<K> OneObject<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    /// Follows the object `name`. Without the right to watch it, it is read `every` so often.
    pub fn new(api: Api<K>, name: &str, every: Duration) -> Self {
        let now = Instant::now();
        Self { api, name: name.to_owned(), watch: Watch::Off(now), every, due: now }
    }

    /// The interface to objects of this kind.
    pub fn api(&self) -> &Api<K> {
        &self.api
    }

    /// Reads the object now.
    ///
    /// # Errors
    /// When the API server does not say whether the object is there.
    pub async fn read(&mut self) -> Result<Option<K>, ActError> {
        within_deadline(self.api.get_opt(&self.name)).await
    }

    /// Waits until the object may have changed, and returns it. A caller that does not wait to the end loses nothing.
    /// `pauses`: those after errors of a watch that begins now.
    ///
    /// # Errors
    /// As for [`Self::read`]. The next call tries again, after a pause.
    pub async fn next<B: Backoff + 'static>(
        &mut self,
        pauses: impl FnOnce() -> B,
    ) -> Result<Option<K>, ActError> {
        if matches!(&self.watch, Watch::Off(until) if Instant::now() >= *until) {
            let watch = watcher::watch_object(self.api.clone(), &self.name);
            self.watch = Watch::On(watch.backoff(pauses()).boxed());
        }
        if let Watch::On(watch) = &mut self.watch {
            match watch.next().await.map(|event| event.map_err(error_of)) {
                Some(Ok(object)) => return Ok(object),
                Some(Err(error)) if !matches!(error, ActError::Denied { .. }) => return Err(error),
                Some(Err(error)) => debug!(name = self.name, %error, "it is read, since no watch shows it"),
                None => {}
            }
            self.watch = Watch::Off(Instant::now() + WATCH_AGAIN);
        }
        tokio::time::sleep_until(self.due).await;
        let answer = self.read().await;
        self.due = Instant::now() + self.every;
        answer
    }
}

fn error_of(error: watcher::Error) -> ActError {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => act_error(&error),
        watcher::Error::WatchError(status) => act_error(&kube::Error::Api(status)),
        watcher::Error::NoResourceVersion => ActError::Unreachable { message: error.to_string() },
    }
}
