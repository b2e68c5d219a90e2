//! A component in parts: whole or not at all, in any order, and never at the cost of what serves.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::parts::{Part, split};
use machinist_plugin_host::{Digest, Encoding, PluginReport, PluginState};

use crate::fixture::{Fixture, Map, marked, plain};

/// The plain driver as one version, cut into three: the index and its parts.
struct Cut {
    version: &'static str,
    digest: Digest,
    index: String,
    parts: Vec<(String, Part)>,
}

fn cut_as(version: &'static str, encoding: Encoding) -> Cut {
    let component = marked(&plain(), version);
    let packed = Bytes::from(encoding.pack(&component).expect("packs"));
    let size = packed.len().div_ceil(3);
    let (index, parts) = split(&packed, encoding, size, &format!("plain-{version}"));
    Cut { version, digest: Digest::of(&component), index: index.to_json(), parts }
}

fn cut(version: &'static str) -> Cut {
    cut_as(version, Encoding::None)
}

impl Cut {
    fn index(&self) -> Map {
        self.index_with(&self.index)
    }

    fn index_with(&self, index: &str) -> Map {
        Map::plain("plain", self.version, &["plain"])
            .without("plugin.wasm")
            .data(PluginKeys::INDEX_KEY, index)
            .data("sha256", &self.digest.to_string())
    }

    /// Counted from 1, as people do.
    fn part(&self, number: usize) -> Map {
        let (name, part) = &self.parts[number - 1];
        let mut map = Map::new(name, Vec::new())
            .without("plugin.wasm")
            .binary(PluginKeys::BYTES_KEY, part.bytes.to_vec())
            .data(PluginKeys::PLACE_KEY, &part.place.to_string());
        map.0.labels.insert(PluginKeys::KIND_LABEL.to_owned(), PluginKeys::PART_KIND.to_owned());
        map
    }

    async fn arrives(&self, world: &Fixture) {
        for number in 1..=3 {
            world.host.declare(self.part(number).0).await;
        }
    }
}

/// Waits until the plugin's report is as it should be.
async fn until(world: &Fixture, what: &str, is_so: impl Fn(&PluginReport) -> bool) -> PluginReport {
    let mut changes = pin!(world.host.changes());
    let id = Map::new("plain", Vec::new()).id();
    let waited = async {
        loop {
            let report = world.report(&id);
            if is_so(&report) {
                return report;
            }
            changes.next().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waited).await;
    waited.unwrap_or_else(|_| panic!("not {what}: {:?}", world.report(&id)))
}

async fn rejected(world: &Fixture, part: &str) {
    let what = format!("rejected with {part:?}");
    let is_so = |report: &PluginReport| {
        report.state == PluginState::Rejected
            && report.reason.as_deref().is_some_and(|reason| reason.contains(part))
    };
    until(world, &what, is_so).await;
}

async fn waits(world: &Fixture, part: &str) {
    let is_so = |report: &PluginReport| {
        report.state == PluginState::Declared
            && report.reason.as_deref() == Some(&format!("waits for {part}"))
    };
    until(world, &format!("waiting for {part}"), is_so).await;
}

async fn ready(world: &Fixture, cut: &Cut) -> PluginReport {
    let is_so = |report: &PluginReport| {
        report.state == PluginState::Ready
            && report.held.as_ref().is_some_and(|held| held.digest == cut.digest)
    };
    let report = until(world, &format!("ready as {}", cut.version), is_so).await;
    assert_eq!(world.version("plain").await, cut.version);
    report
}

/// A world in which version 1.0.0 serves from parts.
async fn serving() -> (Fixture, Cut) {
    let (world, one) = (Fixture::new(), cut("1.0.0"));
    one.arrives(&world).await;
    world.host.declare(one.index().0).await;
    ready(&world, &one).await;
    (world, one)
}

#[tokio::test]
async fn parts_in_every_encoding_are_a_plugin() {
    for encoding in Encoding::ALL {
        let (world, cut) = (Fixture::new(), cut_as("1.0.0", encoding));
        cut.arrives(&world).await;
        let report = world.ready(cut.index()).await;
        assert_eq!(report.digest, Some(cut.digest));
        assert_eq!(world.version("plain").await, "1.0.0");
        assert_eq!(world.host.plugins().len(), 1, "a part is no plugin");
    }
}

#[tokio::test]
async fn the_last_part_completes_the_plugin_in_any_order() {
    let orders = [[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]];
    for order in orders {
        let (world, cut) = (Fixture::new(), cut("1.0.0"));
        for turn in order {
            let map = if turn == 0 { cut.index() } else { cut.part(turn) };
            world.host.declare(map.0).await;
        }
        ready(&world, &cut).await;
    }
}

#[tokio::test]
async fn a_missing_part_is_named_and_the_version_before_serves_until_it_comes() {
    let (world, _) = serving().await;
    let two = cut("2.0.0");
    world.host.declare(two.part(1).0).await;
    world.host.declare(two.index().0).await;
    waits(&world, "part 2 of 3, ConfigMap plain-2.0.0-2; part 3 of 3, ConfigMap plain-2.0.0-3").await;
    world.host.declare(two.part(3).0).await;
    waits(&world, "part 2 of 3, ConfigMap plain-2.0.0-2").await;
    assert_eq!(world.version("plain").await, "1.0.0");
    world.host.declare(two.part(2).0).await;
    ready(&world, &two).await;
}

/// Version 2 with something wrong: the reason is given, and version 1 serves until version 2 is fixed.
async fn check(break_it: impl Fn(&Cut) -> Vec<Map>, expected: &str) {
    let (world, _) = serving().await;
    let two = cut("2.0.0");
    two.arrives(&world).await;
    for map in break_it(&two) {
        world.host.declare(map.0).await;
    }
    rejected(&world, expected).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    two.arrives(&world).await;
    world.host.declare(two.index().0).await;
    ready(&world, &two).await;
}

#[tokio::test]
async fn one_part_named_twice() {
    let twice = |two: &Cut| vec![two.index_with(&two.index.replace("plain-2.0.0-3", "plain-2.0.0-2"))];
    check(twice, "it names ConfigMap plain-2.0.0-2 twice, as part 2 and part 3").await;
}

#[tokio::test]
async fn two_parts_of_one_number() {
    check(
        |two| vec![two.part(3).data(PluginKeys::PLACE_KEY, "2/3"), two.index()],
        "part 3 of 3, ConfigMap plain-2.0.0-3, says that it is part 2/3",
    )
    .await;
}

#[tokio::test]
async fn a_part_of_another_version() {
    check(
        |two| {
            let other = cut("1.0.0").part(3).0.binary_data[PluginKeys::BYTES_KEY].to_vec();
            vec![two.part(3).binary(PluginKeys::BYTES_KEY, other), two.index()]
        },
        "part 3 of 3, ConfigMap plain-2.0.0-3, has digest sha256:",
    )
    .await;
}

#[tokio::test]
async fn parts_that_fit_and_are_another_version_together() {
    check(|two| vec![cut("1.0.0").index().data("sha256", &two.digest.to_string())], "and sha256 says").await;
}

#[tokio::test]
async fn an_index_that_says_too_little_or_too_much() {
    let misbehaving = "encoding \"lzma\" is unknown; this host reads none, gzip and zstd";
    check(|two| vec![two.index_with(&two.index.replace("\"none\"", "\"lzma\""))], misbehaving).await;
    let both = "there is both plugin.wasm and parts.json";
    check(|two| vec![two.index().binary("plugin.wasm", plain())], both).await;
    let without = |two: &Cut| {
        let mut map = two.index();
        map.0.data.remove("sha256");
        vec![map]
    };
    check(without, "parts.json needs sha256 beside it").await;
}

#[tokio::test]
async fn a_part_without_bytes() {
    let without = |two: &Cut| vec![two.part(1).without(PluginKeys::BYTES_KEY), two.index()];
    check(without, "part 1 of 3, ConfigMap plain-2.0.0-1, is wrong: its binaryData has no plugin.wasm.part")
        .await;
}

#[tokio::test]
async fn parts_that_vanish_after_loading_harm_nothing_and_are_missed_aloud() {
    let (world, one) = serving().await;
    world.host.withdraw(one.part(2).id()).await;
    let report = until(&world, "warned", |report| !report.warnings.is_empty()).await;
    assert_eq!((report.state, report.serving), (PluginState::Ready, true));
    let warning = report.warnings.concat();
    assert!(warning.contains("part 2 of 3, ConfigMap plain-1.0.0-2"), "{warning}");
    assert_eq!(world.version("plain").await, "1.0.0");
    world.host.declare(one.part(2).0).await;
    let back = until(&world, "whole again", |report| report.warnings.is_empty()).await;
    let generation = |report: &PluginReport| report.held.as_ref().map(|held| held.generation);
    assert_eq!(generation(&back), generation(&report), "nothing was loaded again");
}

#[tokio::test]
async fn a_part_that_is_edited_after_loading_is_rejected_and_what_was_loaded_serves() {
    let (world, one) = serving().await;
    let edited = one.part(2).binary(PluginKeys::BYTES_KEY, b"something else".to_vec());
    world.host.declare(edited.0).await;
    rejected(&world, "part 2 of 3, ConfigMap plain-1.0.0-2, has digest").await;
    assert_eq!(world.version("plain").await, "1.0.0");
    world.host.declare(one.part(2).0).await;
    ready(&world, &one).await;
}

#[tokio::test]
async fn settings_of_an_index_change_without_its_parts_arriving_again() {
    let (world, one) = serving().await;
    let settings = r#"{"version":"1.5.0","providers":["plain"]}"#;
    world.host.declare(one.index().data("settings.json", settings).0).await;
    until(&world, "1.5.0", |report| report.held.as_ref().is_some_and(|held| held.version == "1.5.0")).await;
    assert_eq!(world.version("plain").await, "1.5.0");
}

#[tokio::test]
async fn one_configmap_and_several_take_turns() {
    let (world, _) = serving().await;
    world.ready(Map::plain("plain", "3.0.0", &["plain"])).await;
    assert_eq!(world.version("plain").await, "3.0.0");
    let two = cut("2.0.0");
    two.arrives(&world).await;
    world.host.declare(two.index().0).await;
    ready(&world, &two).await;
}

#[tokio::test]
async fn a_withdrawn_index_serves_no_more_and_its_parts_wait_for_another() {
    let (world, one) = serving().await;
    world.host.withdraw(one.index().id()).await;
    assert!(world.create("plain", "{}").await.is_err());
    world.host.declare(one.index().0).await;
    ready(&world, &one).await;
}
