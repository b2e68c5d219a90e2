//! Health policies with real components: what they are given, what they may use, and what becomes of one that breaks.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::error::{Broken, CallError, Code, GuestFailure, Limit};
use machinist_core::health_policy::{
    Action, Asked, ConditionFact, DomainFact, HistoryFact, Mode, NodeQuestion, PolicyQuestion, PolicyVerdict,
    RawAnswer, ServingState, Subject, opinion_of,
};
use machinist_core::machine::node::health::ConditionStatus;
use machinist_core::value::id::{ObjectKey, Uid};
use machinist_core::value::phase::Phase;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::parts::{Part, split};
use machinist_plugin_host::{Digest, Encoding, PluginState};

use crate::fixture::{Fixture, Map, marked, plain, request, settings};

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("in range")
}

pub(crate) fn before(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

/// A Machine whose Node has not answered for five minutes.
pub(crate) fn question() -> PolicyQuestion {
    PolicyQuestion {
        machine: Subject {
            key: ObjectKey::new("shoot", "machine-1"),
            uid: Uid::new("uid-1"),
            class: "small".into(),
            deployment: Some("pool-a".to_owned()),
            labels: BTreeMap::from([("pool".to_owned(), "a".to_owned())]),
            provider_id: Some("cloud:///vm-1".into()),
            created: before(86_400),
            health_timeout: Some(SignedDuration::from_mins(10)),
            must_be_false: vec!["DiskPressure".to_owned()],
            can_reboot: true,
        },
        node: Some(NodeQuestion {
            name: "node-1".into(),
            created: Some(before(86_000)),
            labels: BTreeMap::new(),
            is_unschedulable: false,
            conditions: vec![ConditionFact {
                kind: "Ready".to_owned(),
                status: ConditionStatus::Unknown,
                reason: "NodeStatusUnknown".to_owned(),
                message: "Kubelet stopped posting node status.".to_owned(),
                since: Some(before(300)),
            }],
        }),
        history: HistoryFact {
            phase: Phase::Running,
            phase_since: Some(before(80_000)),
            reboots: Vec::new(),
        },
        domain: DomainFact { name: Some("zone-a".into()), machines: 10, silent: 1 },
    }
}

pub(crate) fn component(package: &str) -> Vec<u8> {
    guests::bytes(package).expect("the policy builds")
}

pub(crate) fn policy(name: &str, component: Vec<u8>) -> Map {
    let mut map = Map::new(name, component);
    map.0.labels.insert(PluginKeys::KIND_LABEL.to_owned(), "health-policy".to_owned());
    map
}

fn misbehaving(settings: &str) -> Map {
    policy("odd", component("odd-policy")).data("settings.json", settings)
}

pub(crate) async fn ask(
    world: &Fixture,
    policy: &str,
    question: PolicyQuestion,
) -> Result<RawAnswer, CallError> {
    world.host.evaluate(&policy.into(), question, now()).await
}

async fn reason(world: &Fixture) -> String {
    ask(world, "odd", question()).await.expect("answers").reason
}

#[tokio::test]
async fn the_shipped_policies_answer() {
    let world = Fixture::new();
    for name in ["policy-default", "policy-zone", "policy-ladder"] {
        world.ready(policy(name, component(name))).await;
    }
    let sick = PolicyVerdict::Unhealthy { since: before(300) };
    let answer = ask(&world, "policy-default", question()).await.expect("answers");
    assert_eq!(
        (answer.verdict, answer.action, answer.reason.as_str()),
        (sick, Action::Replace, "Ready is Unknown")
    );
    let answer = ask(&world, "policy-ladder", question()).await.expect("answers");
    assert_eq!((answer.verdict, answer.action), (sick, Action::Reboot));
    let answer = ask(&world, "policy-zone", question()).await.expect("answers");
    assert_eq!((answer.verdict, answer.action), (sick, Action::Replace));
    let mut silent = question();
    silent.domain.silent = 7;
    let answer = ask(&world, "policy-zone", silent).await.expect("answers");
    assert_eq!(answer.verdict, PolicyVerdict::Unknown);
    assert!(answer.reason.contains("zone-a") && answer.reason.contains("held"), "{}", answer.reason);
    assert_eq!(answer.holds_until, now() + SignedDuration::from_secs(30));
}

#[tokio::test]
async fn all_of_a_question_arrives() {
    let world = Fixture::new();
    world.ready(misbehaving(r#"{"do": "echo"}"#)).await;
    let mut asked = question();
    asked.history.reboots = vec![before(700)];
    let seen = ask(&world, "odd", asked).await.expect("answers").reason;
    let since = before(300).as_millisecond().to_string();
    let reboot = before(700).as_millisecond().to_string();
    for part in [
        "shoot", "machine-1", "uid-1", "small", "pool-a", "cloud:///vm-1", "600000", "DiskPressure",
        "can-reboot: true", "node-1", "NodeStatusUnknown", "Kubelet stopped posting", &since, &reboot,
        "zone-a", "machines: 10", "silent: 1", "Status::Unknown", "Phase::Running",
    ] {
        assert!(seen.contains(part), "{part} is not in {seen}");
    }
}

/// Several times in a row, and what the host makes of it.
async fn check_limit(what: &str, expected: Limit) {
    let mut settings = settings();
    settings.quarantine.broken_calls = 1_000;
    let world = Fixture::with(settings);
    let terms =
        "{mode: enforce, limits: {fuel: 20000000, memory_mib: 16, deadline_ms: 1500, copied_kib: 64}}";
    world.ready(misbehaving(what).data("policy.yaml", terms)).await;
    world.ready(policy("calm", component("policy-default"))).await;
    for _ in 0..2 {
        let error = ask(&world, "odd", question()).await.expect_err("breaks");
        assert!(
            matches!(&error, CallError::Broken(Broken { failure: GuestFailure::Limit { limit, .. }, .. }) if *limit == expected),
            "{what}: {error:?}"
        );
        let asked = Asked { policy: "odd".into(), generation: 1, mode: Mode::Enforce };
        let opinion = opinion_of(&asked, Err(error.to_string()), now());
        assert_eq!(opinion.verdict, PolicyVerdict::Unknown, "a broken policy does not know");
        assert!(ask(&world, "calm", question()).await.is_ok(), "others do not notice");
    }
    let breakages =
        format!("machinist_plugin_breakages_total{{plugin=\"odd\",kind=\"{}\"}}", expected.name());
    assert_eq!(world.metric(&breakages), 2);
}

#[tokio::test]
async fn a_loop_burns_its_fuel() {
    check_limit(r#"{"do": "loop"}"#, Limit::Fuel).await;
}

#[tokio::test]
async fn memory_without_end_is_refused_by_name() {
    check_limit(r#"{"do": "allocate"}"#, Limit::Memory).await;
}

#[tokio::test]
async fn recursion_ends_at_the_stack() {
    check_limit(r#"{"do": "recurse"}"#, Limit::Stack).await;
}

#[tokio::test]
async fn a_huge_answer_is_not_copied() {
    check_limit(r#"{"do": "huge-answer", "bytes": 200000}"#, Limit::CopiedBytes).await;
}

#[tokio::test]
async fn a_sleeping_driver_meets_the_deadline() {
    check_limit(r#"{"do": "sleep"}"#, Limit::Deadline).await;
}

#[tokio::test]
async fn a_panic_is_a_trap_with_its_message() {
    let world = Fixture::new();
    world.ready(misbehaving(r#"{"do": "trap"}"#)).await;
    let error = ask(&world, "odd", question()).await.expect_err("traps");
    let CallError::Broken(Broken { failure: GuestFailure::Trap { detail }, .. }) = &error else {
        panic!("{error:?}")
    };
    assert!(detail.contains("out of cheese"), "{detail}");
}

#[tokio::test]
async fn an_unusual_answer_becomes_one_that_can_be_shown() {
    let world = Fixture::new();
    world.ready(misbehaving(r#"{"do": "odd-answer"}"#)).await;
    let answer = ask(&world, "odd", question()).await.expect("answers");
    let asked = Asked { policy: "odd".into(), generation: 1, mode: Mode::Enforce };
    let opinion = opinion_of(&asked, Ok(answer), now());
    assert_eq!(opinion.verdict, PolicyVerdict::Unhealthy { since: now() });
    assert!(!opinion.reason.chars().any(char::is_control), "{:?}", opinion.reason);
    assert_eq!(opinion.holds_until, now() + SignedDuration::from_secs(1));
}

#[tokio::test]
async fn the_clock_does_not_move_and_nothing_differs_between_two_calls_or_hosts() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let world = Fixture::new();
        world.ready(misbehaving(r#"{"do": "world"}"#)).await;
        seen.extend([reason(&world).await, reason(&world).await]);
    }
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:#?}");
    let expected = format!("clock {} elapsed 0 order", now().as_millisecond());
    assert!(seen[0].starts_with(&expected), "{}", seen[0]);
    assert!(seen[0].ends_with("variables 0 folder false"), "{}", seen[0]);
}

#[tokio::test]
async fn a_run_of_broken_calls_is_a_quarantine() {
    let mut settings = settings();
    settings.quarantine.broken_calls = 2;
    let world = Fixture::with(settings);
    let report = world.ready(misbehaving(r#"{"do": "trap"}"#)).await;
    for _ in 0..2 {
        ask(&world, "odd", question()).await.expect_err("traps");
    }
    let error = ask(&world, "odd", question()).await.expect_err("is left alone");
    assert!(error.to_string().contains("quarantined until"), "{error}");
    assert!(matches!(world.report(&report.source).state, PluginState::Quarantined { .. }));
}

#[tokio::test]
async fn a_policy_is_swapped_like_a_driver_and_a_bad_one_never_replaces_it() {
    let world = Fixture::new();
    let generation = |world: &Fixture| match &world.host.policies()[..] {
        [fact] => match &fact.state {
            ServingState::Serving { generation } => *generation,
            ServingState::NotServing { reason } => panic!("{reason}"),
        },
        facts => panic!("{facts:?}"),
    };
    let first = world.ready(misbehaving(r#"{"version": "one"}"#)).await;
    assert_eq!((first.kind.as_str(), first.serving), ("health-policy", true));
    let held = first.held.expect("is Ready");
    assert_eq!((held.driver.as_str(), held.version.as_str(), held.providers.len()), ("odd", "1.2.3", 0));
    assert_eq!(reason(&world).await, "version one");
    let before = generation(&world);

    world
        .ready(
            misbehaving(r#"{"version": "two"}"#).binary("plugin.wasm", marked(&component("odd-policy"), "2")),
        )
        .await;
    assert_eq!(reason(&world).await, "version two");
    assert!(generation(&world) > before, "another generation, so that no cached answer is taken for its");
    assert_eq!(world.metric("machinist_plugin_swaps_total{plugin=\"odd\"}"), 1);

    for bad in [
        misbehaving(r#"{"do": "refuse-settings"}"#),
        misbehaving(r#"{"do": "trap-settings"}"#),
        misbehaving("{}").data("policy.yaml", "mode: force"),
        misbehaving("{}").data("grants.yaml", "egress: []"),
        misbehaving("{}").binary("plugin.wasm", plain()),
        misbehaving("{}").binary("plugin.wasm", b"hello".to_vec()),
    ] {
        world.rejected(bad).await;
        assert_eq!(reason(&world).await, "version two");
    }
    let gone = misbehaving("{}").id();
    world.host.withdraw(gone).await;
    assert!(world.host.policies().is_empty());
    assert!(ask(&world, "odd", question()).await.is_err());
}

#[tokio::test]
async fn problems_are_named() {
    let world = Fixture::new();
    let check = async |map: Map, expected: &str| {
        let reason = world.rejected(map).await;
        assert!(reason.contains(expected), "{reason}");
    };
    check(misbehaving(r#"{"do": "refuse-settings"}"#), "its settings are wrong: do is refuse-settings").await;
    check(misbehaving("{}").data("policy.yaml", "mode: force"), "policy.yaml is wrong").await;
    check(misbehaving("{}").data("policy.yaml", "mode: force"), "expected `observe` or `enforce`").await;
    check(misbehaving("{}").data("grants.yaml", "{}"), "a policy reaches nothing").await;
    check(policy("odd", plain()), "it exports no machinist:policy/policy; it exports machinist:provider/")
        .await;
    check(
        Map::new("odd", component("policy-zone")),
        "it exports no machinist:provider/driver; it exports machinist:policy/policy",
    )
    .await;
    check(
        policy("zone", component("policy-zone")).data("settings.json", r#"{"silentPercent": 0}"#),
        "its settings are wrong: silentPercent is 0, and must be from 1 to 100",
    )
    .await;
}

#[tokio::test]
async fn a_policy_that_cannot_be_asked_is_known_with_its_mode_and_why() {
    let world = Fixture::new();
    let terms = "{mode: enforce, applies_to: {classes: [small]}}";
    world.rejected(misbehaving(r#"{"do": "refuse-settings"}"#).data("policy.yaml", terms)).await;
    let facts = world.host.policies();
    let [fact] = &facts[..] else { panic!("{facts:?}") };
    assert_eq!(fact.mode, Mode::Enforce);
    assert!(fact.scope.covers(&question().machine));
    let ServingState::NotServing { reason } = &fact.state else { panic!("{fact:?}") };
    assert!(reason.contains("is rejected"), "{reason}");

    world.ready(misbehaving("{}").data("policy.yaml", "mode: observe")).await;
    assert_eq!(world.host.policies()[0].mode, Mode::Observe);
    assert!(matches!(world.host.policies()[0].state, ServingState::Serving { .. }));
}

#[tokio::test]
async fn a_policy_may_come_packed() {
    let world = Fixture::new();
    let packed = zstd::encode_all(&component("policy-ladder")[..], 19).expect("packs");
    let map = policy("ladder", Vec::new()).without("plugin.wasm").binary("plugin.wasm.zst", packed);
    world.ready(map).await;
    assert!(ask(&world, "ladder", question()).await.is_ok());
}

/// The index of a policy in two parts, and the parts.
fn in_parts(name: &str, terms: &str) -> (Map, Vec<Map>) {
    let component = component("policy-ladder");
    let packed = Bytes::from(Encoding::Zstd.pack(&component).expect("packs"));
    let (index, parts) = split(&packed, Encoding::Zstd, packed.len().div_ceil(2), name);
    let whole = policy(name, Vec::new())
        .without("plugin.wasm")
        .data(PluginKeys::INDEX_KEY, &index.to_json())
        .data("sha256", &Digest::of(&component).to_string())
        .data("policy.yaml", terms);
    let part = |(name, part): (String, Part)| {
        let map = Map::new(&name, Vec::new()).without("plugin.wasm");
        let mut map = map
            .binary(PluginKeys::BYTES_KEY, part.bytes.to_vec())
            .data(PluginKeys::PLACE_KEY, &part.place.to_string());
        map.0.labels.insert(PluginKeys::KIND_LABEL.to_owned(), PluginKeys::PART_KIND.to_owned());
        map
    };
    (whole, parts.into_iter().map(part).collect())
}

#[tokio::test]
async fn a_policy_in_parts_holds_until_all_of_it_is_there() {
    let world = Fixture::new();
    let (index, parts) = in_parts("ladder", "mode: enforce");
    let [first, second] = &parts[..] else { panic!("two parts") };
    world.host.declare(first.0.clone()).await;
    world.host.declare(index.0.clone()).await;
    let facts = world.host.policies();
    let [fact] = &facts[..] else { panic!("{facts:?}") };
    let ServingState::NotServing { reason } = &fact.state else { panic!("{fact:?}") };
    assert_eq!(fact.mode, Mode::Enforce);
    assert!(reason.contains("waits for its parts") && reason.contains("ladder"), "{reason}");
    world.host.declare(second.0.clone()).await;
    world.ready(index).await;
    assert!(ask(&world, "ladder", question()).await.is_ok());
    assert!(matches!(world.host.policies()[0].state, ServingState::Serving { .. }));
}

#[tokio::test]
async fn a_driver_and_a_policy_of_one_name_serve_side_by_side() {
    let world = Fixture::new();
    let driver = Map::plain("driver", "1.0.0", &["plain"]).plugin("same").created(1);
    let policy_map = |second| misbehaving("{}").plugin("same").created(second);
    world.ready(driver).await;
    world.ready(policy_map(2)).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    assert!(ask(&world, "same", question()).await.is_ok());
    let serving = world.host.plugins().iter().filter(|report| report.serving).count();
    assert_eq!(serving, 2);
    world.host.withdraw(misbehaving("{}").id()).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    assert!(world.host.policies().is_empty());
}

/// Returns the state of the only policy, its mode, and the warnings of its source.
async fn broken(map: Map) -> (Mode, bool, String, String) {
    let world = Fixture::new();
    let id = map.id();
    world.rejected(map).await;
    let facts = world.host.policies();
    let [fact] = &facts[..] else { panic!("{facts:?}") };
    let ServingState::NotServing { reason } = &fact.state else { panic!("{fact:?}") };
    let covers = fact.scope.covers(&question().machine);
    (fact.mode, covers, reason.clone(), world.report(&id).warnings.join("; "))
}

#[tokio::test]
async fn a_policy_whose_configmap_cannot_be_read_holds_unless_it_says_that_it_observes() {
    let enforcing = |map: Map| map.data("policy.yaml", "mode: enforce");
    for (map, part) in [
        (misbehaving("{}").data("policy.yaml", "mode: force"), "policy.yaml is wrong"),
        (misbehaving("{}").data("policy.yaml", "mode: enforce\n  limits"), "policy.yaml is wrong"),
        (misbehaving("{}").data("policy.yaml", "{mode: enforce, limits: {fuel: 0}}"), "limit fuel is 0"),
        (enforcing(misbehaving("[]")), "settings.json is not a JSON object"),
        (enforcing(misbehaving("{}")).data("grants.yaml", "{}"), "a policy reaches nothing"),
        (enforcing(misbehaving("{}")).without("plugin.wasm"), "binaryData has neither"),
    ] {
        let (mode, covers, reason, warnings) = broken(map).await;
        assert_eq!((mode, covers), (Mode::Enforce, true), "{reason}");
        assert!(reason.contains("is rejected") && reason.contains(part), "{reason}");
        assert!(warnings.contains("no Machine that it may be about is failed"), "{part}: {warnings}");
    }
    let observing = misbehaving("{}").data("policy.yaml", "{mode: observe, limits: {fuel: 0}}");
    let (mode, _, reason, warnings) = broken(observing).await;
    assert_eq!((mode, warnings.as_str()), (Mode::Observe, ""), "{reason}");
    let elsewhere = misbehaving("{}")
        .data("policy.yaml", "{mode: enforce, applies_to: {classes: [big]}, limits: {fuel: 0}}");
    let (mode, covers, ..) = broken(elsewhere).await;
    assert_eq!((mode, covers), (Mode::Enforce, false), "it is not about this Machine");
}

#[tokio::test]
async fn a_driver_reboots_if_it_can() {
    let world = Fixture::new();
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let mut known = request("plain", "{}");
    known.machine.provider_id = Some("plain:///1.0.0/uid-1".into());
    world.host.reboot(known).await.expect("is done");
    let code = |answer: Result<(), CallError>| match answer {
        Err(CallError::Guest(error)) => error.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(world.host.reboot(request("plain", "{}")).await), Code::NotFound);
    let without = Map::new("hostile", component("hostile-driver"));
    world.ready(without).await;
    assert_eq!(code(world.host.reboot(request("hostile", "{}")).await), Code::Unimplemented);
}
