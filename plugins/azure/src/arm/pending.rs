//! The state of a machine between calls: `last-known-state`.

use serde_json::{Value, json};

use crate::arm::names::{Kind, ResourceId, is_disk_of};
use crate::arm::operation::is_poll;

/// A machine has at most 64 data disks.
const MOST_DISKS: usize = 65;

/// The operation that a call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Create,
    Delete,
}

impl Doing {
    const ALL: [Self; 2] = [Self::Create, Self::Delete];

    fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
        }
    }
}

/// The state that a call passes to the next one. Text of another program counts as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The VM that this driver created, or found with the machine's marks. Nobody else writes it, unlike the provider
    /// id.
    pub(crate) vm: Option<ResourceId>,
    /// The operation that is due to be looked at.
    pub(crate) poll: Option<(Doing, String)>,
    /// Disks of the VM: after its end only this tells them all, if the class has changed.
    pub(crate) disks: Vec<String>,
    pub(crate) address: Option<String>,
    /// The zone of the create, after others have said no. `None`: the class's own. The name is the key of all zones.
    pub(crate) zone: Option<i32>,
}

impl Pending {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let value: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let own = |name: &str| value.get(name).and_then(Value::as_str);
        let Some(vm) = own("vm").and_then(ResourceId::parse).filter(|id| id.kind == Kind::Vm) else {
            return Self::default();
        };
        let doing = own("doing").and_then(|name| Doing::ALL.into_iter().find(|doing| doing.name() == name));
        let poll = own("poll").filter(|path| is_poll(path)).map(str::to_owned);
        let disks = value.get("disks").and_then(Value::as_array).into_iter().flatten();
        let disks = disks.filter_map(Value::as_str).filter(|name| is_disk_of(&vm.name, name));
        let disks = disks.take(MOST_DISKS).map(str::to_owned).collect();
        let address = own("address").filter(|text| is_address(text)).map(str::to_owned);
        let zone = value.get("zone").and_then(Value::as_i64).and_then(|zone| i32::try_from(zone).ok());
        Self { poll: doing.zip(poll), disks, address, zone, vm: Some(vm) }
    }

    pub(crate) fn text(&self) -> String {
        let mut state = json!({});
        if let Some(vm) = &self.vm {
            state["vm"] = json!(vm.text());
        }
        if let Some((doing, path)) = &self.poll {
            state["doing"] = json!(doing.name());
            state["poll"] = json!(path);
        }
        if !self.disks.is_empty() {
            state["disks"] = json!(self.disks);
        }
        if let Some(address) = &self.address {
            state["address"] = json!(address);
        }
        if let Some(zone) = self.zone {
            state["zone"] = json!(zone);
        }
        state.to_string()
    }

    /// Returns the operation of this kind, if one is due.
    pub(crate) fn poll_of(&self, doing: Doing) -> Option<&str> {
        self.poll.as_ref().filter(|(kind, _)| *kind == doing).map(|(_, path)| path.as_str())
    }
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_the_way_through_the_host() {
        let vm =
            ResourceId { subscription: "s".into(), group: "g".into(), kind: Kind::Vm, name: "vm-1".into() };
        let state = Pending {
            vm: Some(vm),
            poll: Some((Doing::Delete, "/subscriptions/s/x?a=b".into())),
            disks: vec!["vm-1-os-disk".into()],
            address: Some("10.0.0.4".into()),
            zone: Some(2),
        };
        assert_eq!(Pending::parse(Some(&state.text())), state);
        assert_eq!(state.poll_of(Doing::Create), None);
    }

    #[test]
    fn what_another_program_left_is_nothing() {
        for text in [None, Some(""), Some("Created azure:///a/b"), Some("[]"), Some(r#"{"vm": 1}"#)] {
            assert_eq!(Pending::parse(text), Pending::default(), "{text:?}");
        }
        let vm = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm-1";
        let text = format!(
            r#"{{"vm": "{vm}", "doing": "create", "poll": "https://evil", "disks": ["pvc-1"], "address": "x y", "zone": "2"}}"#
        );
        let read = Pending::parse(Some(&text));
        assert_eq!((read.poll, read.disks, read.address, read.zone), (None, Vec::new(), None, None));
        assert!(read.vm.is_some());
    }
}
