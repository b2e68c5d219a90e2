//! CPU profiles, in the format of `go tool pprof`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `encode` | encodes samples: gzip around protobuf |

mod encode;

use std::time::{Duration, SystemTime};

use axum::Extension;
use axum::Router;
use axum::extract::Query;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use serde::Deserialize;

use super::listen::Deadline;
use encode::encode;

/// As other programs sample: often enough to see what matters, and rarely enough to cost below one percent.
const SAMPLES_PER_SECOND: i32 = 100;

/// The default of `go tool pprof`.
const SECONDS: u64 = 30;

/// Longer profiles take several requests.
const MOST_SECONDS: u64 = 600;

/// Threads that wait inside of these hold locks which taking a stack needs as well.
const NOT_SAMPLED: [&str; 4] = ["libc", "libgcc", "pthread", "vdso"];

/// The pages below `/debug/pprof/`.
pub(super) fn router<S: Clone + Send + Sync + 'static>(is_on: bool) -> Router<S> {
    if !is_on {
        let off = || async {
            (
                StatusCode::NOT_FOUND,
                "profiling is off: start the host with --profiling to serve /debug/pprof/\n",
            )
        };
        return Router::new().route("/debug/pprof/", get(off)).route("/debug/pprof/{*page}", get(off));
    }
    let absent = || async {
        let text = "not offered: CPU profiles carry their symbols, and there is no execution trace; see /debug/pprof/\n";
        (StatusCode::NOT_IMPLEMENTED, text)
    };
    Router::new()
        .route("/debug/pprof/", get(index))
        .route("/debug/pprof/profile", get(profile))
        .route("/debug/pprof/cmdline", get(cmdline))
        .route("/debug/pprof/symbol", get(absent).post(absent))
        .route("/debug/pprof/trace", get(absent))
}

async fn index() -> &'static str {
    "/debug/pprof/profile?seconds=30  CPU profile: go tool pprof http://HOST:PORT/debug/pprof/profile\n\
     /debug/pprof/cmdline             the command line\n"
}

async fn cmdline() -> String {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("\0")
}

#[derive(Deserialize)]
struct ProfileRequest {
    seconds: Option<u64>,
}

async fn profile(
    deadline: Option<Extension<Deadline>>,
    Query(request): Query<ProfileRequest>,
) -> impl IntoResponse {
    let time = Duration::from_secs(request.seconds.unwrap_or(SECONDS).clamp(1, MOST_SECONDS));
    if let Some(Extension(deadline)) = deadline {
        deadline.extend(time);
    }
    match sample(time).await {
        Ok(bytes) => {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"profile\""));
            (StatusCode::OK, headers, bytes)
        }
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, HeaderMap::new(), format!("{why}\n").into_bytes()),
    }
}

async fn sample(time: Duration) -> Result<Vec<u8>, String> {
    let began = SystemTime::now();
    let profiler = pprof::ProfilerGuardBuilder::default()
        .frequency(SAMPLES_PER_SECOND)
        .blocklist(&NOT_SAMPLED)
        .build()
        .map_err(|error| {
            format!("no profile: {error}; one at a time is taken, so wait for the other to end")
        })?;
    tokio::time::sleep(time).await;
    // Names are looked up in the debug information, which takes a moment.
    let made = tokio::task::spawn_blocking(move || {
        let report = profiler.report().build().map_err(|error| format!("no profile: {error}"))?;
        encode(&report, began, time, SAMPLES_PER_SECOND).map_err(|error| format!("no profile: {error}"))
    });
    made.await.map_err(|error| format!("no profile: {error}"))?
}
