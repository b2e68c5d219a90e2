use serde_json::json;

use super::*;
use crate::recording::difference::difference;
use crate::recording::model::{Exchange, Recording};

/// A recording of these requests, each answered with its number.
fn recording(requests: &[(&str, &str, &str)]) -> Recording {
    let exchange = |(number, (method, url, body)): (usize, &(&str, &str, &str))| Exchange {
        method: (*method).to_owned(),
        url: (*url).to_owned(),
        headers: vec![("accept".to_owned(), "text".to_owned())],
        body: Body::Text((*body).to_owned()),
        outcome: ExchangeOutcome::Answer {
            status: u16::try_from(200 + number).expect("a status"),
            headers: Vec::new(),
            body: Body::Text(String::new()),
            broke_off: None,
            stalls: false,
        },
    };
    let text = json!({
        "format": 1, "plugin": "p", "digest": "d", "operation": "CreateMachine", "subject": "m", "settings": "{}",
        "at": "2027-01-01T00:00:00Z", "took_ms": 1, "question": null, "chance": "00".repeat(32), "log": [],
        "limits": { "memory_bytes": 1, "table_elements": 1, "cpu_ms": 1, "deadline_ms": 10, "copied_bytes": 1, "handles": 1 },
        "secrets": { "keys": [], "user_data_bytes": null, "placeholders": [], "prefixes": [], "reveals": [] },
        "clocks": { "wall_ns": [5, 6], "monotonic_ns": [], "remaining_ms": [] },
        "levels": { "trace": false, "debug": false, "info": true, "warn": true, "error": true },
        "http": requests.iter().enumerate().map(exchange).collect::<Vec<_>>(),
        "end": { "answered": { "answer": { "Ok": null } } },
    });
    serde_json::from_value(text).expect("a recording")
}

fn player(requests: &[(&str, &str, &str)], playing: Playing) -> Player {
    Player::new(Arc::new(recording(requests)), playing).expect("plays")
}

fn ask(player: &Player, method: &str, url: &str, body: &str) -> Option<u16> {
    let headers = [("accept".to_owned(), "text".to_owned())];
    let body = Some(Body::Text(body.to_owned()));
    match player.answer(&Named::new(method, url, &headers, body, &PlaceholderNames::default())) {
        Played::Outcome(outcome) => outcome.ok().map(|response| response.status().as_u16()),
        Played::Silence | Played::Unknown => None,
    }
}

#[test]
fn the_same_request_is_answered_in_turn_and_what_is_alike_after_it() {
    let requests = [
        ("GET", "http://a/x", ""),
        ("GET", "http://a/x", ""),
        ("POST", "http://a/x", "1"),
        ("POST", "http://a/x?q", "2"),
    ];
    let player = player(&requests, Playing::Replay);
    assert_eq!(ask(&player, "POST", "http://a/x?q", "2"), Some(203), "the same, not the first alike");
    assert_eq!(ask(&player, "GET", "http://a/x", ""), Some(200));
    assert_eq!(ask(&player, "GET", "http://a/x", ""), Some(201));
    assert_eq!(ask(&player, "GET", "http://a/x", ""), None, "there were two");
    assert_eq!(ask(&player, "POST", "http://a/x?other", "3"), Some(202), "by its path");
    assert_eq!(ask(&player, "DELETE", "http://a/x", ""), None);
}

#[test]
fn forms_of_different_actions_are_not_alike() {
    let player = player(&[("POST", "http://a/", "Action=Run&Max=1")], Playing::Replay);
    assert_eq!(ask(&player, "POST", "http://a/", "Action=Terminate&Max=1"), None);
    assert_eq!(ask(&player, "POST", "http://a/", "Action=Run&Max=2"), Some(200));
}

#[test]
fn the_secrets_of_a_shadow_are_its_own() {
    let shadow = player(&[], Playing::Shadow);
    assert_eq!(shadow.placeholder("token", &[]), None, "its own vault gives it");
    assert!(player(&[], Playing::Replay).placeholder("token", &[]).is_some());
}

#[test]
fn time_continues_where_the_recording_ends() {
    let player = player(&[], Playing::Replay);
    let read: Vec<u64> = (0..4).map(|_| player.wall_ns()).collect();
    assert_eq!(read, [5, 6, 1_000_006, 2_000_006]);
    assert_eq!((player.monotonic_ns(), player.remaining_ms()), (1_000_000, 10));
}

#[test]
fn the_same_requests_in_another_order_are_a_difference() {
    let (one, other) = (("GET", "http://a/x", ""), ("POST", "http://a/x", ""));
    let differences = |before: &[_], after: &[_]| -> Vec<String> {
        difference(&recording(before), &recording(after)).iter().map(ToString::to_string).collect()
    };
    assert!(differences(&[one, other, one], &[one, other, one]).is_empty());
    let turned = "requests in another order:\n  - GET http://a/x\n  - POST http://a/x\n  + POST http://a/x\n  + GET http://a/x";
    assert_eq!(differences(&[one, other], &[other, one]), [turned]);
    assert_eq!(differences(&[one, other], &[other]), ["request missing: GET http://a/x"]);
    assert_eq!(differences(&[other], &[one, other]), ["request additional: GET http://a/x"]);
}
