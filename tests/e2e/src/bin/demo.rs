//! `cargo xtask demo`: the main job, from a driver in a ConfigMap to nothing left, on a real API server.

use std::process::ExitCode;

use clap::Parser;
use e2e::demo::{Options, run};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("demo: failed to start threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let keeps = options.keep;
    let outcome = runtime.block_on(async {
        // All started processes end with the future that is dropped here, whichever signal comes and whenever.
        tokio::select! {
            outcome = run(options) => outcome,
            () = signalled() => {
                eprintln!("demo: everything is stopped");
                Ok(keeps)
            }
        }
    });
    runtime.shutdown_background();
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Ctrl-C, or the end of the terminal or of whoever started the demo.
async fn signalled() {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    futures::future::select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
}
