//! The parts of a chain that Machines of both APIs have. Pure.

use machinist_api::MachineClass;
use machinist_plugin_host::status::{HeldStatus, PluginStatus};

use super::explanation::{Link, LinkState};
use super::read::Lookup;

/// The class. `unnamed`: the advice where none is named.
pub(super) fn class(class: &Lookup<MachineClass>, unnamed: &str) -> Link {
    let link = |state, says: String| Link::new("class", state, says);
    match class {
        Lookup::NotNamed => link(LinkState::Bad, unnamed.to_owned()),
        Lookup::Missing(name) => link(LinkState::Bad, format!("{name} does not exist: create it")),
        Lookup::Unreadable(why) => link(LinkState::Unknown, why.clone()),
        Lookup::Found(class) => {
            let name = class.metadata.name.as_deref().unwrap_or_default();
            let provider = class.provider.as_deref().unwrap_or_default();
            let (state, deleting) = match class.metadata.deletion_timestamp {
                Some(_) => (LinkState::Bad, ", and is being deleted"),
                None => (LinkState::Good, ""),
            };
            link(state, format!("{name} of provider {provider:?}{deleting}"))
        }
    }
}

/// The plugin that serves the provider.
pub(super) fn driver(plugin: &Lookup<PluginStatus>) -> Link {
    let link = |state, says: String| Link::new("driver", state, says);
    match plugin {
        Lookup::NotNamed => link(LinkState::Unknown, "no class chooses one".into()),
        Lookup::Missing(provider) => {
            let says =
                format!("no plugin serves provider {provider:?}: `machinist plugin list` says which do");
            link(LinkState::Bad, says)
        }
        Lookup::Unreadable(why) => link(LinkState::Unknown, why.clone()),
        Lookup::Found(status) => {
            let is_good = status.state == "Ready";
            let reason = status.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let HeldStatus { driver, version, .. } = status.held.clone().unwrap_or_default();
            let says = format!("{driver} {version} is {}{reason}", status.state);
            link(if is_good { LinkState::Good } else { LinkState::Bad }, says)
        }
    }
}
