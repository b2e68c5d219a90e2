//! The line in which requests wait when a client may send only so many in a second.

use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::SignedDuration;
use kube::core::Status;
use kube::core::response::StatusDetails;
use machinist_core::scheduling::request_rate::{Bucket, Rate, Turn};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The longest wait. Whoever waits has a deadline of 30 s, after which it could not know that nothing was sent; so who would wait
/// longer than this is told at once, as an API server does that has too much to do.
const LONGEST_WAIT: f64 = 20.0;

/// When to come again: when those who wait have gone.
const RETRY_AFTER_SECONDS: u32 = 20;

/// The line of one client. First come, first served.
pub(crate) struct RequestQueue {
    began: Instant,
    rate: Rate,
    waiting: AtomicUsize,
    bucket: Mutex<Bucket>,
}

impl RequestQueue {
    /// With nobody in it.
    pub(crate) fn new(rate: Rate) -> Self {
        let bucket = Mutex::new(Bucket::new(rate));
        Self { began: Instant::now(), rate, waiting: AtomicUsize::new(0), bucket }
    }

    /// Waits for this request's turn. Who stops waiting leaves the line, and takes nothing from the others.
    ///
    /// # Errors
    /// When the line is too long. Nothing was sent.
    pub(crate) async fn wait(&self) -> Result<(), kube::Error> {
        let position = QueuePosition::take(&self.waiting);
        let wait = position.ahead as f64 / self.rate.per_second;
        if wait > LONGEST_WAIT {
            return Err(too_long(wait));
        }
        // The lock is the line: tokio's is fair.
        let mut bucket = self.bucket.lock().await;
        loop {
            let now = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
            match bucket.take(now) {
                Turn::Go => return Ok(()),
                Turn::After(wait) => tokio::time::sleep(wait.unsigned_abs()).await,
            }
        }
    }
}

/// A place in the line.
struct QueuePosition<'a> {
    ahead: usize,
    waiting: &'a AtomicUsize,
}

impl<'a> QueuePosition<'a> {
    fn take(waiting: &'a AtomicUsize) -> Self {
        Self { ahead: waiting.fetch_add(1, Ordering::Relaxed), waiting }
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What an API server answers that has too much to do, so that everybody knows what to make of it.
fn too_long(wait: f64) -> kube::Error {
    let message = format!("requests wait {wait:.0} s in this process already: raise --kube-api-qps");
    let details = StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: RETRY_AFTER_SECONDS,
    };
    kube::Error::Api(Box::new(Status {
        code: 429,
        reason: "TooManyRequests".to_owned(),
        message,
        details: Some(details),
        ..Status::default()
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    fn queue(per_second: f64, burst: u32) -> Arc<RequestQueue> {
        Arc::new(RequestQueue::new(Rate { per_second, burst }))
    }

    /// When each of so many requests goes that come at once; none for one that is sent away.
    async fn send_times(queue: &Arc<RequestQueue>, requests: usize) -> Vec<Option<Duration>> {
        let began = Instant::now();
        let send_times = (0..requests).map(|_| {
            let queue = queue.clone();
            async move { queue.wait().await.ok().map(|()| began.elapsed()) }
        });
        futures::future::join_all(send_times).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_one_after_the_other_in_their_order() {
        let sent: Vec<Duration> = send_times(&queue(20.0, 30), 90).await.into_iter().flatten().collect();
        assert!(sent[29] < Duration::from_millis(2), "{:?}", sent[29]);
        assert!(sent.is_sorted());
        // 60 more at 20 a second; timers tick in milliseconds.
        let last = sent[89].as_secs_f64();
        assert!(sent.len() == 90 && (3.0..3.1).contains(&last), "{last}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_would_wait_too_long_fails_at_once_unsent_and_says_when_to_come_again() {
        let queue = queue(10.0, 1);
        let sent = send_times(&queue, 300).await;
        let refused = sent.iter().filter(|sent| sent.is_none()).count();
        assert_eq!(
            refused,
            300 - 202,
            "one goes at once, and 201 need 20 s and the moment of the first of them"
        );
        let longest = sent.into_iter().flatten().max().unwrap();
        assert!(longest < Duration::from_secs(21), "{longest:?}");

        let _all: Vec<_> = (0..202).map(|_| QueuePosition::take(&queue.waiting)).collect();
        let error = crate::client::errors::act_error(&queue.wait().await.unwrap_err());
        let twenty = Some(SignedDuration::from_secs(20));
        assert_eq!(error, machinist_core::driver::write_error::ActError::Throttled { after: twenty });
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_stops_waiting_takes_nothing_from_the_others() {
        let queue = queue(1.0, 1);
        assert!(queue.wait().await.is_ok());
        for _ in 0..50 {
            let timed_out = tokio::time::timeout(Duration::from_millis(1), queue.wait());
            assert!(timed_out.await.is_err());
        }
        assert_eq!(queue.waiting.load(Ordering::Relaxed), 0);
        let began = Instant::now();
        assert!(queue.wait().await.is_ok());
        assert!(began.elapsed() < Duration::from_millis(1_010), "{:?}", began.elapsed());
    }
}
