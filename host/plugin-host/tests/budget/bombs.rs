//! Components that kill their compiler, or keep it busy for ever.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use machinist_plugin_host::{HostSettings, PluginState};

use crate::alone;
use crate::fixture::{Fixture, Map, compiler, marked, plain, settings_in};

const MIB: u64 = 1 << 20;
const DEATHS: &str = "machinist_plugin_compiler_deaths_total";

/// A number as WebAssembly writes it.
fn leb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).expect("seven bits");
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &leb(content.len()), content].concat()
}

/// An honest component with one more core module, of this many functions that are never called.
fn with_dead_code(functions: usize, code: &[u8]) -> Vec<u8> {
    let body = [&[0][..], code, &[0x0b]].concat();
    let body = [leb(body.len()), body].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        // One that takes nothing and gives nothing.
        section(1, &[1, 0x60, 0, 0]),
        section(3, &[leb(functions), vec![0; functions]].concat()),
        section(5, &[1, 0, 1]),
        section(10, &[leb(functions), body.repeat(functions)].concat()),
    ]
    .concat();
    [plain(), section(1, &module)].concat()
}

/// So many values that are loaded first and used last.
fn live_values(count: usize) -> Vec<u8> {
    // `i32.const 0; i32.load`, one after the other; then `i32.xor`, and `drop`.
    let loads = [0x41, 0, 0x28, 2, 0].repeat(count);
    [loads, vec![0x73; count - 1], vec![0x1a]].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_function_of_seven_megabytes() {
    let _alone = alone().await;
    let world = Fixture::cold(|_| {});
    world.ready(Map::plain("stable", "1.0.0", &["plain"])).await;
    let nested = [[2, 0x40].repeat(1_000_000), vec![0x0b; 1_000_000]].concat();
    for (functions, code, named) in [
        (1, live_values(1_200_000), "bytes in one function"),
        (4, vec![1; 7_000_000], "bytes in one function"),
        (1, nested, "bytes in one function"),
        (1, [[2, 0x40].repeat(100_000), vec![0x0b; 100_000]].concat(), "blocks inside of each other"),
    ] {
        let started = Instant::now();
        let reason = world.rejected(Map::new("bomb", with_dead_code(functions, &code))).await;
        assert!(reason.contains(named) && reason.contains("split the function"), "{reason}");
        assert!(!reason.contains("next attempt"), "no other attempt ends otherwise: {reason}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert_eq!(world.version("plain").await, "1.0.0", "others do not notice");
    }
    let rejected = "machinist_plugin_state{plugin=\"bomb\",source=\"machinist/bomb\",state=\"Rejected\"}";
    assert_eq!(world.metric(rejected), 1);
    assert_eq!(world.metric(&format!("{DEATHS}{{tier=\"optimised\"}}")), 0, "nothing was compiled");
}

fn tight(folder: &Path) -> HostSettings {
    // Two thirds of it are the compiler's.
    HostSettings { memory_budget_bytes: Some(128 * MIB), ..settings_in(folder) }
}

/// Within all bounds, and too much for the memory of this compiler.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_component_that_needs_more_memory_than_there_is() {
    let _alone = alone().await;
    let folder = tempfile::tempdir().expect("a folder");
    let bomb = with_dead_code(8, &live_values(150_000));
    let world = Fixture::with(tight(folder.path()));
    world.ready(Map::plain("stable", "1.0.0", &["plain"])).await;
    let reason = world.rejected(Map::new("bomb", bomb.clone())).await;
    assert!(reason.contains("more than the 85 MiB") && reason.contains("--plugin-memory"), "{reason}");
    let deaths = |world: &Fixture| {
        ["baseline", "quick", "optimised"]
            .map(|tier| world.metric(&format!("{DEATHS}{{tier=\"{tier}\"}}")))
            .iter()
            .sum::<u64>()
    };
    assert!(deaths(&world) >= 1);
    world.host.shutdown().await;
    drop(world);
    // Another process of the host remembers it, and delays no other plugin.
    let world = Fixture::with(tight(folder.path()));
    let reason = world.rejected(Map::new("bomb", bomb)).await;
    assert!(reason.contains("died of it") && reason.contains("next attempt in"), "{reason}");
    world.ready(Map::new("other", marked(&plain(), "other")).data("settings.json", SETTINGS)).await;
    assert_eq!(deaths(&world), 0, "it was not compiled again");
}

const SETTINGS: &str = r#"{"version":"1.0.0","providers":["other"]}"#;

/// A compiler that is killed by each component with this mark, or hangs with that one.
fn fragile(folder: &Path) -> PathBuf {
    let path = folder.join("compiler.sh");
    let script = format!(
        "#!/bin/bash\nexport PATH=/bin:/usr/bin\ninput=$(mktemp -p {folder})\n\
         head -c 18 > $input\nlength=$(head -c 8 $input | od -An -t u8 | tr -d ' ')\nhead -c $length >> $input\n\
         if grep -q killer-mark $input; then echo killed >> {folder}/log; kill -9 $$; fi\n\
         if grep -q sleeper-mark $input; then echo hung >> {folder}/log; sleep 1000; fi\n\
         exec {compiler} < <(cat $input - 2>/dev/null)\n",
        folder = folder.display(),
        compiler = compiler().display(),
    );
    fs::write(&path, script).expect("writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_component_that_kills_its_compiler_again_after_a_restart() {
    let _alone = alone().await;
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("code");
    let start = || {
        let compiler = fragile(folder.path());
        Fixture::with(HostSettings { compiler, ..settings_in(&cache) })
    };
    let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let killer = || Map::new("killer", marked(&plain(), "killer-mark"));
    let world = start();
    let reason = world.rejected(killer()).await;
    assert!(reason.contains("signal: 9") && reason.contains("next attempt in"), "{reason}");
    assert_eq!(world.metric(&format!("{DEATHS}{{tier=\"optimised\"}}")), 1);
    drop(world);
    for _ in 0..2 {
        let world = start();
        let report = world.declare(killer()).await;
        let reason = report.reason.expect("a rejection has a reason");
        assert!(report.state == PluginState::Rejected && reason.contains("died of it 1 times"), "{reason}");
        assert!(reason.contains("next attempt in") && reason.contains("change the component"), "{reason}");
        world.ready(Map::plain("stable", "1.0.0", &["plain"])).await;
    }
    assert_eq!(log(), "killed\n", "one attempt over three processes");
    // Killed with the host while it compiled: as remembered as the other.
    let world = start();
    world.host.declare(Map::new("sleeper", marked(&plain(), "sleeper-mark")).0).await;
    let attempts = || {
        let files = fs::read_dir(&cache).expect("is there").map(|file| file.expect("readable").path());
        files.filter(|path| path.extension().is_some_and(|kind| kind == "attempt")).collect::<Vec<_>>()
    };
    while !log().contains("hung") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left: Vec<_> =
        attempts().into_iter().map(|path| (fs::read(&path).expect("readable"), path)).collect();
    world.host.shutdown().await;
    drop(world);
    // A host that is killed takes nothing back, unlike this one, which does so when its last task has ended.
    while attempts().len() == left.len() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for (bytes, path) in left {
        fs::write(path, bytes).expect("writable");
    }
    let world = start();
    let reason = world.rejected(Map::new("sleeper", marked(&plain(), "sleeper-mark"))).await;
    assert!(reason.contains("the host ended while it was compiled"), "{reason}");
    assert_eq!(log().matches("hung").count(), 1);
}

/// The layers that the compiler's processes report on the machine of the tests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_compiler_is_confined_before_it_compiles() {
    let _alone = alone().await;
    let world = Fixture::cold(|_| {});
    world.ready(Map::plain("stable", "1.0.0", &["plain"])).await;
    let layer =
        |name: &str| world.metric(&format!("machinist_plugin_compiler_confinement{{layer=\"{name}\"}}"));
    assert_eq!(layer("system-calls"), 1);
    let has_landlock =
        fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|list| list.contains("landlock"));
    assert!(layer("files") == 1 || !has_landlock);
}
