//! The API server in memory answers as it is written down; `control-plane` holds a real one against the same.

use jiff::Timestamp;
use memory_api::ApiServer;
use memory_api::conformance::{EXPECTED, transcript};
use memory_api::wire::Wire;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn the_server_in_memory_answers_the_script_as_a_real_one_does() {
    let start = Instant::now();
    let clock = move || Timestamp::UNIX_EPOCH.checked_add(start.elapsed()).unwrap();
    let server = ApiServer::new(Wire::new(), clock);
    let transcript_in_memory = transcript(&server.client("user")).await.unwrap();
    assert!(
        transcript_in_memory == EXPECTED,
        "conformance.txt says otherwise; in memory it is:\n{transcript_in_memory}"
    );
}
