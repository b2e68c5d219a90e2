//! The line in which requests wait when a client may send only so many in a second.

use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::SignedDuration;
use kube::core::Status;
use kube::core::response::StatusDetails;
use machinist_core::scheduling::request_rate::{Bucket, Rate, SendPermit};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The longest wait. Whoever waits has a deadline of 30 s, after which it could not know that nothing was sent; so who would wait
/// longer than this is told at once, as an API server does that has too much to do.
const LONGEST_WAIT: f64 = 20.0;

/// When to come again: when those who wait have gone.
const RETRY_AFTER_SECONDS: u32 = 20;

/// The line of one client. First come, first served.
pub(crate) struct Line {
    began: Instant,
    rate: Rate,
    waiting: AtomicUsize,
    bucket: Mutex<Bucket>,
}

impl Line {
    /// With nobody in it.
    pub(crate) fn new(rate: Rate) -> Self {
        let bucket = Mutex::new(Bucket::new(rate));
        Self { began: Instant::now(), rate, waiting: AtomicUsize::new(0), bucket }
    }

    /// Waits for this request's turn. Who stops waiting leaves the line, and takes nothing from the others.
    ///
    /// # Errors
    /// When the line is too long. Nothing was sent.
    pub(crate) async fn turn(&self) -> Result<(), kube::Error> {
        let place = Place::take(&self.waiting);
        let wait = place.before as f64 / self.rate.per_second;
        if wait > LONGEST_WAIT {
            return Err(too_long(wait));
        }
        // The lock is the line: tokio's is fair.
        let mut bucket = self.bucket.lock().await;
        loop {
            let now = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
            match bucket.take(now) {
                SendPermit::Go => return Ok(()),
                SendPermit::After(wait) => tokio::time::sleep(wait.unsigned_abs()).await,
            }
        }
    }
}

/// A place in the line.
struct Place<'a> {
    before: usize,
    waiting: &'a AtomicUsize,
}

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Self {
        Self { before: waiting.fetch_add(1, Ordering::Relaxed), waiting }
    }
}

impl Drop for Place<'_> {
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

    fn line(per_second: f64, burst: u32) -> Arc<Line> {
        Arc::new(Line::new(Rate { per_second, burst }))
    }

    /// When each of so many requests goes that come at once; none for one that is sent away.
    async fn turns(line: &Arc<Line>, requests: usize) -> Vec<Option<Duration>> {
        let began = Instant::now();
        let turns = (0..requests).map(|_| {
            let line = line.clone();
            async move { line.turn().await.ok().map(|()| began.elapsed()) }
        });
        futures::future::join_all(turns).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_one_after_the_other_in_their_order() {
        let went: Vec<Duration> = turns(&line(20.0, 30), 90).await.into_iter().flatten().collect();
        assert!(went[29] < Duration::from_millis(2), "{:?}", went[29]);
        assert!(went.is_sorted());
        // 60 more at 20 a second; timers tick in milliseconds.
        let last = went[89].as_secs_f64();
        assert!(went.len() == 90 && (3.0..3.1).contains(&last), "{last}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_would_wait_too_long_is_told_at_once_that_nothing_was_sent_and_when_to_come_again() {
        let line = line(10.0, 1);
        let went = turns(&line, 300).await;
        let sent_away = went.iter().filter(|went| went.is_none()).count();
        assert_eq!(
            sent_away,
            300 - 202,
            "one goes at once, and 201 need 20 s and the moment of the first of them"
        );
        let longest = went.into_iter().flatten().max().unwrap();
        assert!(longest < Duration::from_secs(21), "{longest:?}");

        let _all: Vec<_> = (0..202).map(|_| Place::take(&line.waiting)).collect();
        let told = crate::client::errors::act_error(&line.turn().await.unwrap_err());
        let twenty = Some(SignedDuration::from_secs(20));
        assert_eq!(told, machinist_core::driver::write_error::ActError::Throttled { after: twenty });
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_nothing_from_the_others() {
        let line = line(1.0, 1);
        assert!(line.turn().await.is_ok());
        for _ in 0..50 {
            let impatient = tokio::time::timeout(Duration::from_millis(1), line.turn());
            assert!(impatient.await.is_err());
        }
        assert_eq!(line.waiting.load(Ordering::Relaxed), 0);
        let began = Instant::now();
        assert!(line.turn().await.is_ok());
        assert!(began.elapsed() < Duration::from_millis(1_010), "{:?}", began.elapsed());
    }
}
