//! `machinist driver replay`: plays recordings to a component, and reports the differences.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use machinist_plugin_host::{Difference, Recording, ReplayError, Replayed, read_recordings};
use serde::Serialize;

use crate::args::{Output, ReplayFlags};
use crate::plugin::file::{Texts, declared_in, sandbox};

pub(crate) async fn replay(flags: ReplayFlags) -> anyhow::Result<()> {
    let recorded = read_recordings(&flags.recording)?;
    // Some drivers cannot say who they are without their settings.
    let settings = recorded.first().map(|(_, recording)| recording.settings.clone());
    let declared = declared_in(&flags.file, &Texts { settings, ..Texts::default() })?;
    let (host, _folder) = sandbox()?;
    let recordings = recorded.iter().map(|(_, recording)| recording.clone()).collect();
    let replayed = host.replay(declared, recordings).await;
    host.shutdown().await;
    let replayed = replayed.with_context(|| format!("failed to play to {}", flags.file.display()))?;
    let calls: Vec<Call> = recorded.iter().zip(&replayed).map(Call::of).collect();
    match flags.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&calls)?),
        Output::Table => print!("{}", text(&calls)),
    }
    match calls.iter().filter(|call| !call.same).count() {
        0 => Ok(()),
        others => bail!("{others} of {} calls are not as recorded", calls.len()),
    }
}

#[derive(Debug, Serialize)]
struct Call {
    recording: PathBuf,
    operation: String,
    subject: String,
    same: bool,
    /// Of the component that was recorded.
    recorded_digest: String,
    /// Of the component that was played to.
    #[serde(skip_serializing_if = "Option::is_none")]
    played_digest: Option<String>,
    /// Why it was not played.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    differences: Vec<Difference>,
    /// Parts that did not fit into the recording: they may differ for that reason alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

impl Call {
    fn of(((path, recording), replayed): (&(PathBuf, Recording), &Result<Replayed, ReplayError>)) -> Self {
        let (differences, played_digest, error) = match replayed {
            Ok(played) => (played.differences.clone(), Some(played.recording.digest.clone()), None),
            Err(error) => (Vec::new(), None, Some(error.to_string())),
        };
        Self {
            recording: path.clone(),
            operation: recording.operation.clone(),
            subject: recording.subject.clone(),
            same: differences.is_empty() && error.is_none(),
            recorded_digest: recording.digest.clone(),
            played_digest,
            error,
            differences,
            left_out: recording.left_out.clone(),
        }
    }
}

fn text(calls: &[Call]) -> String {
    let mut text = String::new();
    for call in calls {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {} ({}): ", call.operation, call.subject, call.recording.display());
        match (&call.error, call.differences.len()) {
            (Some(error), _) => _ = writeln!(text, "not played: {error}"),
            (None, 0) => text.push_str("same\n"),
            (None, 1) => text.push_str("1 difference\n"),
            (None, several) => _ = writeln!(text, "{several} differences"),
        }
        for difference in &call.differences {
            let _ = writeln!(text, "  {}", difference.to_string().replace('\n', "\n  "));
        }
        if !call.left_out.is_empty() && !call.same {
            let _ =
                writeln!(text, "  the recording is not complete: it left out {}", call.left_out.join(", "));
        }
    }
    let is_other =
        |call: &&Call| call.played_digest.as_ref().is_some_and(|played| *played != call.recorded_digest);
    if let Some(call) = calls.iter().find(is_other) {
        let played = call.played_digest.as_deref().unwrap_or_default();
        let _ = writeln!(text, "\nrecorded with {}, played to {played}", call.recorded_digest);
    }
    text
}
