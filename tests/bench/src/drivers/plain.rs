//! Runs a plain client: a program in Python that makes VMs with the cloud's own library, and removes them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::subject::Subject;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plain");

/// As many VMs as there are Machines, with nothing that watches them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainFigures {
    /// From the first create until all run.
    pub(crate) running: Duration,
    /// From the first delete until all are gone.
    pub(crate) gone: Duration,
    /// Requests to the cloud, for both.
    pub(crate) requests: u64,
}

/// The output of the program, in seconds.
#[derive(Debug, Deserialize)]
struct Printed {
    running: f64,
    gone: f64,
}

pub(super) async fn measure<C: Subject>(cloud: &C) -> Result<PlainFigures> {
    let input = input(cloud)?;
    let before = cloud.requests();
    let certificate = cloud.certificate();
    let printed =
        tokio::task::spawn_blocking(move || run(&C::python()?, C::NAME, &input, &certificate)).await??;
    Ok(PlainFigures {
        running: Duration::try_from_secs_f64(printed.running)?,
        gone: Duration::try_from_secs_f64(printed.gone)?,
        requests: cloud.requests() - before,
    })
}

/// The same Secret and class as the driver gets.
fn input<C: Subject>(cloud: &C) -> Result<Value> {
    let data = cloud.secret(C::NAME).data.unwrap_or_default();
    let text = |(key, value): (String, k8s_openapi::ByteString)| Ok((key, String::from_utf8(value.0)?));
    let secret: BTreeMap<String, String> = data.into_iter().map(text).collect::<Result<_>>()?;
    let spec = cloud.class("small", C::NAME).provider_spec;
    Ok(json!({ "count": C::MACHINES, "url": cloud.client_url(), "secret": secret, "spec": spec }))
}

fn run(python: &Path, cloud: &str, input: &Value, certificate: &str) -> Result<Printed> {
    // Python looks beside the program first: one with the name of its cloud's library would import itself.
    let program = Path::new(PROGRAMS).join(format!("{cloud}_client.py"));
    let folder = tempfile::tempdir()?;
    let trusted = folder.path().join("trusted.pem");
    std::fs::write(&trusted, certificate)?;
    let mut command = Command::new(python);
    if !certificate.is_empty() {
        command.env("REQUESTS_CA_BUNDLE", &trusted);
    }
    let mut client = command
        .arg(&program)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {}", program.display()))?;
    let mut stdin = client.stdin.take().context("its input is a pipe")?;
    stdin.write_all(input.to_string().as_bytes())?;
    drop(stdin);
    let output = client.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {errors}", program.display());
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{} printed no figures: {errors}", program.display()))
}
