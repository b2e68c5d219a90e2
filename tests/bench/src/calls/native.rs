//! The work of the drivers in plain Rust, as somebody would write it who needs no sandbox.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinist_core::driver::{Address, ClassSpec, MachineRequest, Vm, VmState};
use machinist_core::value::id::{FailureDomain, NodeName, ProviderId};
use serde::Deserialize;
use serde_json::Value;

/// As the plain driver's `validate-class`.
pub(crate) fn validate_class(class: &ClassSpec) -> Result<Vec<String>> {
    match serde_json::from_str::<Value>(&class.spec)? {
        Value::Object(_) => Ok(Vec::new()),
        _ => bail!("providerSpec is not an object"),
    }
}

/// As the plain driver's `get-status`.
pub(crate) fn plain_status(request: &MachineRequest) -> Result<Vm> {
    let machine = &request.machine;
    ensure!(machine.provider_id.is_some(), "no machine with uid {}", machine.uid);
    Ok(Vm {
        provider_id: ProviderId::new(format!("plain:///0.1.0/{}", machine.uid)),
        node_name: NodeName::new(machine.name.as_str()),
        state: VmState::Running,
        addresses: vec![Address { kind: "Hostname".to_owned(), address: machine.name.to_string() }],
        failure_domain: None,
        conditions: Vec::new(),
        last_known_state: None,
    })
}

/// A client of the cloud with pooled connections.
pub(crate) struct Native {
    http: reqwest::Client,
    url: String,
}

#[derive(Deserialize)]
struct CloudVm {
    id: String,
    name: String,
    state: String,
    zone: String,
    #[serde(default)]
    addresses: Vec<CloudAddress>,
    tags: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct CloudAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

impl Native {
    pub(crate) fn new(url: &str) -> Result<Self> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .timeout(Duration::from_secs(30))
            .build()
            .context("failed to make an HTTP client")?;
        Ok(Self { http, url: url.to_owned() })
    }

    /// As the sim driver's `get-status` of a machine whose provider id is known.
    pub(crate) async fn get_status(&self, request: &MachineRequest) -> Result<Vm> {
        let machine = &request.machine;
        let id = machine.provider_id.as_ref().context("the machine has an id")?.as_str();
        let (_, id) = id.rsplit_once('/').context("the id has parts")?;
        let token = request.secrets.values.get("token").context("there is a token")?;
        let answer = self
            .http
            .get(format!("{}/v1/vms/{id}", self.url))
            .header("accept", "application/json")
            .bearer_auth(std::str::from_utf8(token)?)
            .send()
            .await?
            .error_for_status()?;
        let vm: CloudVm = serde_json::from_slice(&answer.bytes().await?)?;
        let tag = |key: &str| vm.tags.get(key).map(String::as_str);
        ensure!(tag("cluster") == Some(&request.cluster), "a VM of another cluster");
        ensure!(tag("machine-uid") == Some(machine.uid.as_str()), "a VM of another machine");
        let state = match vm.state.as_str() {
            "running" => VmState::Running,
            "pending" => VmState::Pending,
            _ => VmState::Unknown,
        };
        let address = |found: CloudAddress| Address { kind: found.kind, address: found.address };
        Ok(Vm {
            provider_id: ProviderId::new(format!("sim:///{}/{}", vm.zone, vm.id)),
            node_name: NodeName::new(&vm.name),
            state,
            addresses: vm.addresses.into_iter().map(address).collect(),
            failure_domain: Some(FailureDomain::new(&vm.zone)),
            conditions: Vec::new(),
            last_known_state: None,
        })
    }
}
