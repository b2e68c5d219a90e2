//! Waiting for what must come about.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

/// Long enough for a busy machine; what works takes far less.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Asks until the answer is there. `what` is the sentence that will be true.
pub async fn eventually<T>(what: &str, ask: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    within(TIMEOUT, what, ask).await
}

/// As [`eventually`], with another timeout. An error of the last attempt is part of the complaint.
pub async fn within<T>(
    timeout: Duration,
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let end = Instant::now() + timeout;
    loop {
        let answer = ask().await;
        if let Ok(Some(answer)) = answer {
            return Ok(answer);
        }
        if Instant::now() >= end {
            match answer {
                Err(error) => return Err(error.context(format!("not within {timeout:?}: {what}"))),
                Ok(_) => bail!("not within {timeout:?}: {what}"),
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Adds to an error how things are then.
pub(crate) async fn or_show<T>(
    waited: impl Future<Output = Result<T>>,
    show: impl AsyncFnOnce() -> String,
) -> Result<T> {
    match waited.await {
        Ok(answer) => Ok(answer),
        Err(error) => Err(error.context(show().await)),
    }
}
