//! A large component serves soon, with its first code; optimised code replaces it while calls run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::join_all;
use machinist_plugin_host::{CodeTier, HostSettings, PluginReport};

use crate::fixture::{Fixture, Map, compiler, marked, plain, request, settings_in, version};
use crate::policies::{component, policy};

const LOOKUPS: &str = "machinist_plugin_code_cache_lookups_total";

/// All components count as large.
fn first_code(folder: &Path) -> HostSettings {
    HostSettings { optimised_at_once_bytes: 0, ..settings_in(folder) }
}

/// A compiler that does what this script says before it compiles, where `$TIER` is a letter of the tier: b, q or o.
fn scripted(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("compiler.sh");
    let real = compiler();
    // The tenth byte of the input is the tier. The bytes that were read are put in front of the rest again.
    let script = format!(
        "#!/bin/bash\nexport PATH=/bin:/usr/bin HERE={}\nhead=$(mktemp -p $HERE)\nhead -c 10 > $head\n\
         TIER=$(tail -c 1 $head | tr '\\000\\001\\002' bqo)\n\
         next() {{ {} < <(cat $head - 2>/dev/null); }}\n{script}\n",
        folder.display(),
        real.display(),
    );
    fs::write(&path, script).expect("writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    path
}

fn code(report: &PluginReport) -> Option<CodeTier> {
    report.held.as_ref().map(|held| held.code)
}

impl Fixture {
    /// Waits until its code is of this tier.
    async fn reaches(&self, report: &PluginReport, tier: CodeTier) {
        let mut changes = pin!(self.host.changes());
        while code(&self.report(&report.source)) != Some(tier) {
            changes.next().await.expect("the host lives");
        }
    }
}

/// Without what a compiler may be writing at the moment.
fn code_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).expect("is there").map(|entry| entry.expect("readable").path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "code")).collect()
}

fn kept(folder: &Path) -> Vec<String> {
    let files = code_files(folder);
    let names = files.iter().filter_map(|path| path.to_str()?.strip_suffix(".code")?.rsplit_once('.'));
    let mut tiers: Vec<_> = names.map(|(_, tier)| tier.to_owned()).collect();
    tiers.sort();
    tiers
}

fn shows(world: &Fixture, tier: CodeTier) -> bool {
    let labels = format!("{{plugin=\"plain\",source=\"machinist/plain\",tier=\"{}\"}}", tier.name());
    world.metric(&format!("machinist_plugin_code{labels}")) == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn optimised_code_takes_the_place_of_baseline_code_and_no_call_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("code");
    // The optimising compiler waits until calls are running.
    let mut settings = first_code(&cache);
    let gate = "if [ $TIER = o ]; then until [ -e $HERE/gate ]; do :; done; fi; next";
    settings.compiler = scripted(folder.path(), gate);
    let world = Fixture::with(settings);
    let first = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let first_tier = code(&first).expect("is Ready");
    assert_ne!(first_tier, CodeTier::Optimised, "{first:?}");
    assert!(cfg!(not(target_arch = "x86_64")) || first_tier == CodeTier::Baseline);
    assert!(shows(&world, first_tier) && !shows(&world, CodeTier::Optimised));
    assert_eq!(kept(&cache), [first_tier.name()]);

    let slow: Vec<_> = (0..20)
        .map(|_| {
            let host = world.host.clone();
            tokio::spawn(async move { host.create(request("plain", r#"{"delayMs":1500}"#)).await })
        })
        .collect();
    while world.report(&first.source).held.expect("is Ready").calls_in_flight < slow.len() {
        tokio::task::yield_now().await;
    }
    fs::write(folder.path().join("gate"), "").expect("writable");
    let mut answers = 0;
    while code(&world.report(&first.source)) != Some(CodeTier::Optimised) {
        assert_eq!(world.version("plain").await, "1.0.0");
        answers += 1;
    }
    world.reaches(&first, CodeTier::Optimised).await;
    for call in join_all(slow).await {
        assert_eq!(version(&call.expect("ends")), "1.0.0");
        answers += 1;
    }
    assert_eq!(world.version("plain").await, "1.0.0");
    let now = world.report(&first.source).held.expect("is Ready");
    assert_eq!(now.generation, first.held.expect("is Ready").generation, "the same version, in better code");
    assert_eq!((now.calls_total, now.calls_broken), (answers + 1, 0));
    assert_eq!(world.metric("machinist_plugin_swaps_total{plugin=\"plain\"}"), 0);
    // The metric follows a moment after the code.
    let since = Instant::now();
    while !shows(&world, CodeTier::Optimised) || shows(&world, first_tier) {
        assert!(since.elapsed() < Duration::from_secs(60), "the metric shows other code");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_cache_has_both_tiers_and_the_better_one_replaces_the_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("code");
    let map = || Map::plain("plain", "1.0.0", &["plain"]);
    let mut settings = first_code(&cache);
    settings.compiler = scripted(folder.path(), "if [ $TIER = o ]; then exit 3; fi; next");
    let first_tier = code(&Fixture::with(settings).ready(map()).await).expect("is Ready");
    assert_eq!(kept(&cache), [first_tier.name()]);

    // A host that cannot compile has the first code only.
    let without = || HostSettings { compiler: "/nowhere".into(), ..first_code(&cache) };
    let world = Fixture::with(without());
    let report = world.ready(map()).await;
    assert!(report.from_cache && code(&report) == Some(first_tier), "{report:?}");
    assert_eq!(world.version("plain").await, "1.0.0");
    assert_eq!(world.metric(&format!("{LOOKUPS}{{outcome=\"hit\"}}")), 1);

    // A host that can compile continues from there.
    let world = Fixture::with(first_code(&cache));
    let report = world.ready(map()).await;
    assert!(report.from_cache, "{report:?}");
    world.reaches(&report, CodeTier::Optimised).await;
    world.host.shutdown().await;
    drop(world);

    let report = Fixture::with(without()).ready(map()).await;
    assert!(report.from_cache && code(&report) == Some(CodeTier::Optimised), "{report:?}");
    assert!(kept(&cache).contains(&"optimised".to_owned()));
}

#[tokio::test]
async fn a_changed_byte_of_either_tier_is_never_run() {
    for tier in ["optimised", "first"] {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("code");
        let map = || Map::plain("plain", "1.0.0", &["plain"]);
        let mut settings = first_code(&cache);
        if tier == "first" {
            settings.compiler = scripted(folder.path(), "if [ $TIER = o ]; then exit 3; fi; next");
        } else {
            settings.optimised_at_once_bytes = usize::MAX;
        }
        Fixture::with(settings.clone()).ready(map()).await;
        for path in code_files(&cache) {
            let mut bytes = fs::read(&path).expect("readable");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::remove_file(&path).expect("ours");
            fs::write(&path, bytes).expect("writable");
        }
        let world = Fixture::with(settings);
        let report = world.ready(map()).await;
        assert!(!report.from_cache, "{report:?}");
        assert!(world.metric(&format!("{LOOKUPS}{{outcome=\"tampered\"}}")) > 0);
    }
}

#[tokio::test]
async fn code_of_one_tier_does_not_pass_for_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("code");
    let map = || Map::plain("plain", "1.0.0", &["plain"]);
    let mut settings = first_code(&cache);
    settings.compiler = scripted(folder.path(), "case $TIER in b) exit 2;; o) exit 3;; esac; next");
    Fixture::with(settings).ready(map()).await;
    assert_eq!(kept(&cache), ["quick"]);
    for path in code_files(&cache) {
        let name = path.to_str().expect("plain").replace(".quick.", ".optimised.");
        fs::rename(&path, name).expect("ours");
    }
    let world = Fixture::with(HostSettings { optimised_at_once_bytes: usize::MAX, ..settings_in(&cache) });
    let report = world.ready(map()).await;
    assert!(!report.from_cache, "{report:?}");
    assert!(world.metric(&format!("{LOOKUPS}{{outcome=\"tampered\"}}")) > 0);
}

/// A core module with a tail call, which the baseline compiler does not know.
fn with_tail_call(component: &[u8]) -> Vec<u8> {
    let module = [
        &b"\0asm\x01\0\0\0"[..],
        &[1, 4, 1, 0x60, 0, 0],           // one type: nothing to nothing
        &[3, 2, 1, 0],                    // one function of it
        &[10, 6, 1, 4, 0, 0x12, 0, 0x0b], // that calls itself in its tail
    ]
    .concat();
    let length = u8::try_from(module.len()).expect("short");
    assert!(length < 128, "one byte of LEB128");
    [component, &[1, length], &module].concat()
}

#[tokio::test]
async fn code_that_the_baseline_compiler_lacks_is_compiled_without_optimisation() {
    let world = Fixture::cold(|settings| settings.optimised_at_once_bytes = 0);
    let map = Map::plain("plain", "1.0.0", &["plain"]).binary("plugin.wasm", with_tail_call(&plain()));
    let report = world.ready(map).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    let compiled =
        |tier| world.metric(&format!("machinist_plugin_compile_duration_seconds_count{{tier=\"{tier}\"}}"));
    assert_eq!((compiled("baseline"), compiled("quick")), (0, 1));
    world.reaches(&report, CodeTier::Optimised).await;
    assert_eq!(world.version("plain").await, "1.0.0");
}

#[tokio::test]
async fn a_compiler_that_dies_of_a_component_leaves_it_to_the_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = first_code(&folder.path().join("code"));
    settings.compiler = scripted(folder.path(), "if [ $TIER = b ]; then kill -9 $$; fi; next");
    let world = Fixture::with(settings);
    let report = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    world.reaches(&report, CodeTier::Optimised).await;
}

#[tokio::test]
async fn urgent_code_does_not_wait_for_an_optimising_compiler() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = first_code(&folder.path().join("code"));
    // It never ends.
    settings.compiler = scripted(folder.path(), "if [ $TIER = o ]; then while :; do :; done; fi; next");
    let world = Fixture::with(settings);
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        let map = Map::plain("plain", version, &["plain"]).binary("plugin.wasm", marked(&plain(), version));
        world.ready(map).await;
        assert_eq!(world.version("plain").await, version);
    }
    world.host.shutdown().await;
}

#[tokio::test]
async fn a_large_policy_begins_with_quick_code_until_it_is_optimised() {
    let world = Fixture::cold(|settings| settings.optimised_at_once_bytes = 0);
    let report = world.ready(policy("zone", component("policy-zone"))).await;
    assert_eq!(code(&report), Some(CodeTier::Quick));
    world.reaches(&report, CodeTier::Optimised).await;
}

#[tokio::test]
async fn one_compiler_runs_at_a_time_however_many_components_come() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = first_code(&folder.path().join("code"));
    let script = "mkdir $HERE/running || { [ $TIER = o ] || echo $TIER >> $HERE/overlaps; }\n\
                  next; status=$?; rmdir $HERE/running; exit $status";
    settings.compiler = scripted(folder.path(), script);
    settings.optimised_at_once_bytes = usize::MAX;
    let world = Fixture::with(settings);
    let loads = ["a", "b", "c", "d"].map(|name| {
        let map = Map::plain(name, "1.0.0", &[name]).binary("plugin.wasm", marked(&plain(), name));
        world.ready(map)
    });
    join_all(loads).await;
    assert!(!folder.path().join("overlaps").exists());
    assert_eq!(world.metric("machinist_plugin_compile_duration_seconds_count{tier=\"optimised\"}"), 4);
}

/// Memory, processor time and files are bounded, and it comes last when others want the processor.
#[test]
fn a_compiler_limits_itself_before_it_reads_anything() {
    let mut child =
        Command::new(compiler()).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let limit = |name: &str| {
        let limits = fs::read_to_string(proc.join("limits")).expect("it waits for its input");
        let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit").to_owned();
        line.trim_start_matches(name).split_whitespace().next().map(str::to_owned).expect("a value")
    };
    // The last of the limits is set after the others.
    while limit("Max file size") == "unlimited" {
        std::thread::yield_now();
    }
    assert_eq!(limit("Max address space"), (4_u64 << 30).to_string());
    assert_eq!(limit("Max cpu time"), "600");
    assert_eq!(limit("Max core file size"), "0");
    let stat = fs::read_to_string(proc.join("stat")).expect("readable");
    let nice: i32 = stat
        .rsplit_once(')')
        .expect("a name")
        .1
        .split_whitespace()
        .nth(16)
        .expect("nice")
        .parse()
        .expect("a number");
    assert!(nice >= 10, "{stat}");
    drop(child.stdin.take());
    child.wait().expect("ends with its input");
}
