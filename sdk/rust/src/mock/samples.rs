//! Classes, requests and answers for tests.

use serde_json::Value;

use crate::driver::{Class, HttpAnswer, Machine, Request};

/// A MachineClass with this `providerSpec`, of the provider `sim`; you can change all its fields.
pub fn a_class(spec: &Value) -> Class {
    Class {
        name: "small".to_owned(),
        provider: "sim".to_owned(),
        spec: spec.to_string(),
        node_template: None,
        zones: Vec::new(),
    }
}

/// The Machine with this number, before it has a VM.
pub fn a_machine(number: usize) -> Machine {
    Machine {
        namespace: "shoot".to_owned(),
        name: format!("machine-{number}"),
        uid: format!("uid-{number}"),
        labels: Vec::new(),
        annotations: Vec::new(),
        provider_id: None,
        node_template: None,
        last_known_state: None,
    }
}

/// The request for the Machine with this number, of cluster `c1`.
pub fn a_request(number: usize, class: &Class) -> Request {
    Request {
        machine: a_machine(number),
        class: class.clone(),
        idempotency_key: format!("key-{number}"),
        cluster: "c1".to_owned(),
        deadline_ms: 300_000,
    }
}

/// The same request after the host has stored the id.
pub fn with_id(request: &Request, provider_id: &str) -> Request {
    let mut request = request.clone();
    request.machine.provider_id = Some(provider_id.to_owned());
    request
}

/// An answer with a JSON body.
pub fn json_answer(status: u16, value: &Value) -> HttpAnswer {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    HttpAnswer { status, headers, body: value.to_string().into_bytes() }
}
