//! A driver is swapped while it is called, and no call notices.

use crate::scene::{SIM, turn};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_swaps_under_fifty_calls_in_flight_lose_no_call_and_double_none() {
    let _turn = turn().await;
    let folder = tempfile::tempdir().expect("a folder");
    let outcome =
        e2e::plugins::swaps::measure(folder.path(), &SIM, 50, 50).await.expect("all versions serve");
    assert_eq!(outcome.swaps, 50);
    assert!(outcome.calls > 100, "the calls went on through the swaps: {outcome:?}");
    outcome.holds().expect("each call made one VM");
}
