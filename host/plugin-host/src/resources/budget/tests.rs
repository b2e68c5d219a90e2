//! The budget as its owners see it.

use std::time::Duration;

use futures::FutureExt as _;

use super::*;

fn budget(total_bytes: u64) -> Budget {
    Budget::new(Some(total_bytes), &Metrics::default())
}

fn account(budget: &Budget, plugin: &str) -> MemoryAccount {
    budget.of_plugin(&PluginName::new(plugin), Gauge::default())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(20)
}

#[test]
fn a_guard_gives_back_what_it_has_taken() {
    let budget = budget(800);
    let account = account(&budget, "one");
    let mut taken = account.take(300).expect("fits");
    taken.grow_to(500).expect("fits");
    assert_eq!(taken.grow_to(801), Err(Full { total_bytes: 800, taken_bytes: 500 }));
    assert_eq!(taken.bytes(), 500, "a refusal changes nothing");
    taken.grow_to(100).expect("has more");
    assert_eq!(taken.bytes(), 500);
    taken.shrink_to(200);
    let rest = account.take(600).expect("200 are held");
    assert!(account.take(1).is_err());
    drop((taken, rest));
    assert!(account.take(800).is_ok());
}

#[test]
fn a_buffer_gives_back_with_its_last_clone() {
    let budget = budget(800);
    let account = account(&budget, "one");
    let body = account.take(800).expect("fits").tied_to(Bytes::from_static(b"body"));
    assert_eq!(body, b"body"[..]);
    let tail = body.slice(2..);
    drop(body);
    assert!(account.take(1).is_err());
    drop(tail);
    assert!(account.take(800).is_ok());
}

#[test]
fn a_plugin_leaves_room_for_each_that_is_known_and_takes_it_back_when_that_goes() {
    let budget = budget(800);
    let (greedy, honest) = (account(&budget, "greedy"), account(&budget, "honest"));
    // A quarter in three parts of 66.
    let much = greedy.take(734).expect("leaves 66");
    assert_eq!(greedy.take(1).err(), Some(Full { total_bytes: 800, taken_bytes: 734 }));
    assert!(honest.take(67).is_err());
    drop(honest.take(66).expect("its part"));
    let again = account(&budget, "honest");
    drop(honest);
    assert!(greedy.take(1).is_err(), "another account of the same plugin is open");
    drop(again);
    assert!(greedy.take(66).is_ok());
    drop(much);
}

#[tokio::test]
async fn a_call_waits_for_room_until_its_timeout_ends() {
    let budget = budget(800);
    let (one, two) = (account(&budget, "one"), account(&budget, "two"));
    let much = one.take(734).expect("fits");
    assert!(two.take_until(200, soon()).await.is_err());
    let mut waiting = Box::pin(two.take_until(200, Instant::now() + Duration::from_secs(60)));
    assert!((&mut waiting).now_or_never().is_none());
    drop(much);
    assert_eq!(waiting.await.expect("is free").bytes(), 200);
    // A call that would like more than a quarter starts with that much.
    assert_eq!(one.take_until(700, soon()).await.expect("is free").bytes(), 200);
}

#[tokio::test]
async fn the_compiler_waits_for_calls_that_run_and_new_ones_wait_for_the_compiler() {
    let budget = budget(800);
    let (compiler, one) = (budget.of_compiler(Gauge::default()), account(&budget, "one"));
    let much = one.take(700).expect("fits");
    let mut waiting = Box::pin(compiler.set_aside(10_000));
    assert!((&mut waiting).now_or_never().is_none());
    assert!(one.take(1).is_err(), "the compiler is next");
    drop(much);
    let aside = waiting.await.expect("is free");
    assert_eq!(aside.bytes(), 532, "two thirds of the budget");
    assert!(one.take(268).is_ok());
    assert!(one.take(269).is_err());
    drop(aside);
    assert!(one.take(800).is_ok(), "nothing stays set aside");
    let much = one.take(500).expect("fits");
    let mut gives_up = Box::pin(compiler.set_aside(400));
    assert!((&mut gives_up).now_or_never().is_none());
    assert!(one.take(300).is_err());
    drop(gives_up);
    assert!(one.take(300).is_ok());
    drop(much);
}
