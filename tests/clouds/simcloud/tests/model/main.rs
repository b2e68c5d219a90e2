//! The model under simulated time: what each call promises.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `vms` | the life of a VM, its tags, tokens, reboots and events |
//! | `keys` | a key never gives two VMs |
//! | `lag` | reads show changes late, and keys are known at once |
//! | `paging` | paging returns each VM that stays exactly once |
//! | `volumes` | volumes attach once, and leave with their VM unless they are kept |
//! | `faults` | errors before and after the commit, spoiled answers, capacity and quota |

mod faults;
mod keys;
mod lag;
mod paging;
mod vms;
mod volumes;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use simcloud::{AccountConfig, Answer, Cloud, Config, Latency, Method, Request, Role, Token};

/// A cloud, its clock, and a token to call it with.
struct Harness {
    cloud: Cloud,
    now: Timestamp,
    token: &'static str,
}

impl Harness {
    fn new() -> Self {
        Self::with(Config {
            latency: Latency { boot_ms: 1000, terminate_ms: 1000, ..Latency::ZERO },
            accounts: vec![account("one"), account("two")],
            ..Config::default()
        })
    }

    fn with(config: Config) -> Self {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        Self { cloud: Cloud::new(config, now), now, token: "one" }
    }

    fn send(&mut self, request: Request) -> Answer {
        let request = request.with_token(self.token);
        self.cloud.handle(&request, self.now)
    }

    /// Status and body of a call.
    fn call(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let mut request = Request::new(method, target);
        if !body.is_null() {
            request = request.with_json(body).unwrap();
        }
        let answer = self.send(request);
        (answer.status, answer.json().unwrap())
    }

    fn get(&mut self, target: &str) -> (u16, Value) {
        self.call(Method::Get, target, &Value::Null)
    }

    fn admin(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let before = std::mem::replace(&mut self.token, "sim-admin");
        let answer = self.call(method, target, body);
        self.token = before;
        answer
    }

    fn create(&mut self, key: &str, body: &Value) -> (u16, Value) {
        let answer = self.send(Request::new(Method::Post, "/v1/vms").with_key(key).with_json(body).unwrap());
        (answer.status, answer.json().unwrap())
    }

    /// The id of a fresh VM.
    fn vm(&mut self, name: &str) -> String {
        let (status, vm) = self.create(name, &wanted(name));
        assert_eq!(status, 201, "{vm}");
        text(&vm["id"])
    }

    fn state(&mut self, id: &str) -> String {
        let (status, vm) = self.get(&format!("/v1/vms/{id}"));
        if status == 404 { "404".to_owned() } else { text(&vm["state"]) }
    }

    fn names(&mut self, target: &str) -> Vec<String> {
        let (status, page) = self.get(target);
        assert_eq!(status, 200, "{page}");
        page["vms"].as_array().unwrap().iter().map(|vm| text(&vm["name"])).collect()
    }

    fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        self.cloud.advance(self.now);
    }
}

fn account(name: &str) -> AccountConfig {
    let token = |token: String, role| Token { token, role };
    AccountConfig {
        name: name.to_owned(),
        tokens: vec![token(name.to_owned(), Role::ReadWrite), token(format!("{name}-read"), Role::ReadOnly)],
        quota: None,
    }
}

fn wanted(name: &str) -> Value {
    json!({"name": name, "zone": "sim-1a", "type": "sim.small", "image": "linux-1",
           "tags": {"machine-uid": name, "cluster": "c1"}, "userData": "aGVsbG8="})
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["code"].as_str().unwrap_or("none"))
}
