//! The text of all metrics. It is made off the threads of the controllers, and as rarely as makes no difference: a
//! flood of requests costs a fifth of a processor.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;

/// A text serves for so many times as long as it took to make.
const SERVES_TIMES: u32 = 4;

#[derive(Clone)]
pub(super) struct Scrape {
    registry: Arc<Registry>,
    made: Arc<Mutex<Option<Made>>>,
}

struct Made {
    text: Bytes,
    until: Instant,
}

impl Scrape {
    pub(super) fn new(registry: Arc<Registry>) -> Self {
        Self { registry, made: Arc::default() }
    }

    /// `None` when it cannot be made.
    pub(super) async fn text(&self) -> Option<Bytes> {
        let mut made = self.made.lock().await;
        if let Some(Made { text, .. }) = made.as_ref().filter(|made| Instant::now() < made.until) {
            return Some(text.clone());
        }
        let registry = Arc::clone(&self.registry);
        let making = tokio::task::spawn_blocking(move || {
            let (began, mut text) = (Instant::now(), String::new());
            encode(&mut text, &registry).ok()?;
            Some((Bytes::from(text), began.elapsed()))
        });
        let (text, took) = making.await.ok()??;
        *made = Some(Made { text: text.clone(), until: Instant::now() + serves(took) });
        Some(text)
    }
}

fn serves(took: Duration) -> Duration {
    took.saturating_mul(SERVES_TIMES)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::DescriptorEncoder;

    use super::*;

    #[derive(Debug)]
    struct Slow(Arc<AtomicUsize>);

    impl Collector for Slow {
        fn encode(&self, _encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
            self.0.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(100));
            Ok(())
        }
    }

    #[tokio::test]
    async fn attack_a_flood_of_scrapes_costs_a_fifth_of_a_processor() {
        let count = Arc::new(AtomicUsize::new(0));
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Slow(Arc::clone(&count))));
        let scrape = Scrape::new(Arc::new(registry));
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(2) {
            assert!(scrape.text().await.is_some());
            tokio::task::yield_now().await;
        }
        // One in 500 ms, each of which takes 100 ms.
        let made = count.load(Ordering::SeqCst);
        assert!((2..=5).contains(&made), "made {made} times in two seconds");
    }
}
