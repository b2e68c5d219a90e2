//! The same driver in each language, beside the same work in plain Rust.
//!
//! | module | what it measures |
//! | --- | --- |
//! | `calls` | calls in fresh instances, in turn with the same work in plain Rust |
//! | `loads` | from a declaration to the first call that it answers |
//! | `memory` | the growth of the process for each instance that is alive |

mod calls;
pub(crate) mod loads;
pub(crate) mod memory;

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::manifests;
use e2e::plugins::sandbox;
use guests::Script;
use machinist_plugin_host::{PluginHost, RawConfigMap};
use tokio::net::TcpListener;

use crate::calls::Cloud;
use crate::calls::host::request;
use crate::times::Times;

pub(crate) use memory::Memory;

/// A language, and its bare prototype: a fresh instance, one call, and its end, in µs at the median.
#[derive(Clone, Copy, Debug)]
struct Language {
    name: &'static str,
    prototype: Duration,
    build: fn() -> Result<Vec<u8>>,
}

const LANGUAGES: [Language; 4] = [
    Language { name: "Rust", prototype: Duration::from_micros(39), build: || guests::bytes("sim-driver") },
    Language {
        name: "Go",
        prototype: Duration::from_micros(1_031),
        build: || guests::go_bytes("examples/driver-sim"),
    },
    Language {
        name: "JavaScript",
        prototype: Duration::from_micros(908),
        build: || guests::sim_driver(Script::JavaScript),
    },
    Language {
        name: "Python",
        prototype: Duration::from_micros(1_466),
        build: || guests::sim_driver(Script::Python),
    },
];

/// The result for a language.
#[derive(Clone, Debug)]
pub(crate) enum LanguageOutcome {
    Measured(Box<LanguageFigures>),
    LeftOut { language: &'static str, why: String },
}

/// The figures of a language.
#[derive(Clone, Debug)]
pub(crate) struct LanguageFigures {
    pub(crate) language: &'static str,
    pub(crate) prototype: Duration,
    pub(crate) size_bytes: usize,
    pub(crate) packed_bytes: usize,
    /// From the declaration to the answer of the first call; compiled.
    pub(crate) new: Times,
    /// In which tier these calls ran.
    pub(crate) first_tier: &'static str,
    /// From the declaration until calls run in optimised code.
    pub(crate) optimised: Duration,
    /// From the declaration to the answer of the first call; from the cache.
    pub(crate) cached: Times,
    pub(crate) empty: Both,
    pub(crate) request: Both,
    pub(crate) memory: Memory,
}

/// The same call both ways.
#[derive(Clone, Debug)]
pub(crate) struct Both {
    pub(crate) sandboxed: Times,
    pub(crate) native: Times,
}

pub(crate) async fn measure() -> Result<Vec<LanguageOutcome>> {
    let mut outcomes = Vec::new();
    for language in LANGUAGES {
        eprintln!("building the driver in {}", language.name);
        outcomes.push(match tokio::task::spawn_blocking(language.build).await? {
            Ok(component) => LanguageOutcome::Measured(Box::new(one(language, component).await?)),
            Err(error) => LanguageOutcome::LeftOut { language: language.name, why: format!("{error:#}") },
        });
    }
    Ok(outcomes)
}

async fn one(language: Language, component: Vec<u8>) -> Result<LanguageFigures> {
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let cloud = Cloud::start()?;
    let host = start(folder.path())?;
    eprintln!("loading it");
    let packed = |mark: &str| declared(&sandbox::marked(&component, mark), &cloud.url());
    let machine = request("sim", "sim:///sim-1a/vm-1");
    let (new, first_tier) = loads::new(&host, &machine.class, packed).await?;
    let optimised = loads::optimised(&host, packed("kept")?).await?;
    let cached = loads::cached(&host, &machine.class, &packed("kept")?).await?;
    eprintln!("calling it");
    let (empty, with_request) = calls::measure(&host, &cloud.url()).await?;
    host.shutdown().await;
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.context("failed to listen")?;
    let url = format!("http://{}", silent.local_addr()?);
    let waiting = declared(&sandbox::marked(&component, "kept"), &url)?;
    let memory = memory::measure(folder.path(), &silent, waiting, &machine).await?;
    let map = packed("kept")?;
    Ok(LanguageFigures {
        language: language.name,
        prototype: language.prototype,
        size_bytes: component.len(),
        packed_bytes: map.binary_data.values().fold(0, |sum, bytes| sum + bytes.len()),
        new,
        first_tier,
        optimised,
        cached,
        empty,
        request: with_request,
        memory,
    })
}

pub(crate) fn start(folder: &std::path::Path) -> Result<PluginHost> {
    PluginHost::start(sandbox::settings(folder)?).context("failed to start the plugin host")
}

/// As a user declares it, but in one piece.
fn declared(component: &[u8], endpoint: &str) -> Result<RawConfigMap> {
    let settings = serde_json::json!({ "endpoint": endpoint });
    let mut map = manifests::plugin_granted("sim", component, &settings, &serde_json::json!({}))?;
    let data = map.data.get_or_insert_default();
    data.remove("grants.json");
    data.insert("grants.yaml".to_owned(), manifests::grants(endpoint));
    Ok(sandbox::raw(map))
}
