//! Calls of the shipped drivers, natively: settings, class, Machine and the answers of the cloud out of one recording.
//!
//! | module | input |
//! | --- | --- |
//! | `ec2` | answers of EC2: XML of a cloud that lies |
//! | `guest` | answers of drivers to calls of the host |
//! | `recording` | recordings, and their player |

pub(super) mod ec2;
pub(super) mod guest;
pub(super) mod recording;

use std::cell::RefCell;

use machinist_plugin_host::Recording;
use machinist_plugin_host::testing::{Exchange, ExchangeOutcome};
use machinist_sdk::driver::{
    Capacity, Class, DeleteById, Driver, Failure, HttpAnswer, HttpRequest, Interruption, Machine,
    NoAnswerReason, NodeId, Placement, Reboot, Request, Vm, VmState,
};
use machinist_sdk::mock::{MockHost, Place};
use native_aws_driver::AwsDriver;
use native_sim_driver::SimDriver;
use serde::Deserialize;
use serde_json::Value;

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(super) const TARGET: Target = Target {
    name: "calls",
    about: "calls of the drivers of EC2 and the simulated cloud: an end for each, and no secret or flood in its words",
    grammar: Grammar::Json,
    samples: samples::recordings,
    words: &[
        "CreateMachine", "InitializeMachine", "DeleteMachine", "GetMachineStatus", "ListMachines",
        "GetVolumeIDs", "RebootMachine", "DeleteMachineByID", "ValidateClass", "Describe", "endpoint",
        "adopt", "answer", "failed", "unanswered", "text/html", "retry-after", "machinist-auth",
        "aws:///eu-west-1/i-1", "sim:///sim-1a/vm-1", "providerSpec", "region", "zone", "tags", "userData",
    ],
    share: 60,
    check,
};

const SECRET: &str = "canary-Zx9-0123456789abcdef";
const MOST_MESSAGE: usize = 10_000;
/// A call that asks more often has lost its way: the listing of a hundred pages is the longest.
const MOST_REQUESTS: usize = 250;

#[derive(Deserialize)]
struct AskedMachine {
    namespace: String,
    name: String,
    uid: String,
    labels: Vec<(String, String)>,
    annotations: Vec<(String, String)>,
    provider_id: Option<String>,
    node_template: Option<String>,
    last_known_state: Option<String>,
}

#[derive(Deserialize)]
struct AskedClass {
    name: String,
    provider: String,
    spec: String,
    node_template: Option<String>,
    zones: Vec<String>,
}

#[derive(Deserialize)]
struct Asked {
    machine: AskedMachine,
    class: AskedClass,
    idempotency_key: String,
    cluster: String,
    deadline_ms: u64,
}

#[derive(Deserialize)]
struct AskedVm {
    provider_id: String,
    node_name: String,
    failure_domain: Option<String>,
}

impl From<AskedVm> for Vm {
    fn from(vm: AskedVm) -> Self {
        let AskedVm { provider_id, node_name, failure_domain } = vm;
        Self {
            provider_id,
            node_name,
            state: VmState::Running,
            addresses: Vec::new(),
            failure_domain,
            conditions: Vec::new(),
            last_known_state: None,
        }
    }
}

impl From<AskedClass> for Class {
    fn from(class: AskedClass) -> Self {
        let AskedClass { name, provider, spec, node_template, zones } = class;
        Self { name, provider, spec, node_template, zones }
    }
}

impl From<Asked> for Request {
    fn from(asked: Asked) -> Self {
        let Asked { machine, class, idempotency_key, cluster, deadline_ms } = asked;
        let AskedMachine {
            namespace,
            name,
            uid,
            labels,
            annotations,
            provider_id,
            node_template,
            last_known_state,
        } = machine;
        let machine = Machine {
            namespace,
            name,
            uid,
            labels,
            annotations,
            provider_id,
            node_template,
            last_known_state,
        };
        Self { machine, class: class.into(), idempotency_key, cluster, deadline_ms }
    }
}

fn check(input: &[u8]) -> Verdict {
    let Ok(recording) = serde_json::from_slice::<Recording>(input) else {
        return Ok(Shape::of("no recording"));
    };
    let asked = RefCell::new(0_usize);
    let host = MockHost::new(|request: &HttpRequest| {
        let number = *asked.borrow();
        *asked.borrow_mut() += 1;
        answer(recording.http.get(number % recording.http.len().max(1)), request)
    });
    let header = [Place::header("authorization")];
    let host = host
        .settings(recording.settings.clone())
        .secret("token", SECRET, &header)
        .secret("providerAccessKeyId", "AKIA1", &[])
        .secret("providerSecretAccessKey", SECRET, &[])
        .user_data(SECRET, &[Place::form("UserData"), Place::json("/userData")]);
    let message = match recording.plugin.as_str() {
        "sim" => call::<SimDriver>(&host, &recording),
        _ => call::<AwsDriver>(&host, &recording),
    };
    let message = message.unwrap_or_else(|failure| {
        format!("{:?} {} {:?}", failure.code, failure.message, failure.cloud_code.is_some())
    });
    promise(message.len() <= MOST_MESSAGE, || format!("an answer of {} bytes: {message}", message.len()))?;
    promise(!message.contains(SECRET), || "a secret is in an answer".to_owned())?;
    let requests = *asked.borrow();
    promise(requests <= MOST_REQUESTS, || format!("{requests} requests in one call"))?;
    Ok(Shape::of(&message).and(Shape::of(&recording.operation)))
}

fn answer(exchange: Option<&Exchange>, request: &HttpRequest) -> Result<HttpAnswer, NoAnswerReason> {
    match exchange.map(|exchange| &exchange.outcome) {
        None | Some(ExchangeOutcome::Unanswered) => Err(NoAnswerReason::TimedOut),
        Some(ExchangeOutcome::Failed(error)) => {
            Err(NoAnswerReason::Other(format!("{error:?} {}", request.url)))
        }
        Some(ExchangeOutcome::Answer { status, headers, body, .. }) => Ok(HttpAnswer {
            status: *status,
            headers: headers.clone(),
            body: body.bytes().unwrap_or_default(),
        }),
    }
}

/// Makes the recorded call. Returns its outcome in words, as the host would show them.
fn call<D: Driver + Reboot + DeleteById + NodeId + Placement + Interruption + Capacity>(
    host: &MockHost<'_>,
    recording: &Recording,
) -> Result<String, Failure> {
    let driver = host.driver::<D>();
    let question = || recording.question.clone();
    let class = || Some(Class::from(serde_json::from_value::<AskedClass>(question()).ok()?));
    let none = || Ok("no question".to_owned());
    let machine = |ask: &dyn Fn(&Request) -> Result<String, Failure>| {
        let asked = serde_json::from_value::<Asked>(question());
        asked.map_or_else(|_| none(), |asked| ask(&asked.into()))
    };
    Ok(match recording.operation.as_str() {
        "CreateMachine" => machine(&|request| Ok(format!("{:?}", driver.create(request)?)))?,
        "InitializeMachine" => machine(&|request| Ok(format!("{:?}", driver.initialize(request)?)))?,
        "DeleteMachine" => machine(&|request| Ok(format!("{:?}", driver.delete(request)?)))?,
        "GetMachineStatus" => machine(&|request| Ok(format!("{:?}", driver.get_status(request)?)))?,
        "RebootMachine" => machine(&|request| Ok(format!("{:?}", driver.reboot(request)?)))?,
        "DeleteMachineByID" => {
            let (asked, id): (Asked, String) = match serde_json::from_value(question()) {
                Ok(question) => question,
                Err(_) => return none(),
            };
            format!("{:?}", driver.delete_by_id(&asked.into(), &id)?)
        }
        "GetNodeID" => {
            let (asked, vm): (Asked, AskedVm) = match serde_json::from_value(question()) {
                Ok(question) => question,
                Err(_) => return none(),
            };
            driver.node_id(&asked.into(), &vm.into())?
        }
        "PlaceClass" => {
            let (asked, failure_domain): (Asked, String) = match serde_json::from_value(question()) {
                Ok(question) => question,
                Err(_) => return none(),
            };
            let asked = Request::from(asked);
            let placed = driver.place(&asked.class, &failure_domain)?;
            format!("{:?}", serde_json::from_str::<Value>(&placed).map(|placed| placed.is_object()))
        }
        "IsInterruptible" => machine(&|request| Ok(driver.is_interruptible(&request.class)?.to_string()))?,
        "GetNodeCapacity" => match class() {
            Some(class) => format!("{:?}", driver.node_capacity(&class)?),
            None => return none(),
        },
        "ListMachines" => {
            let (class, cluster, token): (AskedClass, String, Option<String>) =
                match serde_json::from_value(question()) {
                    Ok(question) => question,
                    Err(_) => return none(),
                };
            format!("{} machines", driver.list(&class.into(), &cluster, token.as_deref())?.machines.len())
        }
        "GetVolumeIDs" => {
            let specs: Vec<String> = serde_json::from_value(question()).unwrap_or_default();
            format!("{} ids", driver.get_volume_ids(&specs)?.len())
        }
        "ValidateClass" => match class() {
            Some(class) => driver.validate_class(&class)?.iter().take(3).cloned().collect(),
            None => return none(),
        },
        _ => {
            let about = driver.describe();
            let _specs: Value = about
                .class_schema
                .as_deref()
                .map(serde_json::from_str)
                .and_then(Result::ok)
                .unwrap_or_default();
            about.providers.join(" ")
        }
    })
}
