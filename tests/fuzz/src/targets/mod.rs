//! The targets, in the order in which they run.
//!
//! | module | input |
//! | --- | --- |
//! | `plugins` | input of a writer of ConfigMaps |
//! | `registry` | answers of a registry |
//! | `egress` | requests of components, whose secrets travel only where they may |
//! | `calls` | calls of the shipped drivers, with answers of a lying cloud |
//! | `objects` | objects of an API server, stored under an older schema |
//! | `lives` | stored objects for the whole runtime: caches, decisions, effects, statuses |
//! | `words` | texts in fields and flags that the core reads |
//! | `user_data` | templates of user data, and Secrets of bootstrap tokens |
//! | `kubeconfig` | kubeconfigs, as the runtime reads them |

mod calls;
mod egress;
mod kubeconfig;
mod lives;
mod objects;
mod plugins;
mod registry;
mod user_data;
mod words;

use crate::target::Target;

/// In the order in which they run.
pub const ALL: [Target; 27] = [
    plugins::configmap::TARGET,
    plugins::parts::TARGET,
    plugins::packed::TARGET,
    plugins::component::TARGET,
    plugins::grants::TARGET,
    plugins::terms::TARGET,
    calls::guest::TARGET,
    plugins::policy::TARGET,
    calls::recording::TARGET,
    calls::TARGET,
    calls::ec2::TARGET,
    egress::TARGET,
    egress::url::TARGET,
    egress::token::TARGET,
    egress::pace::TARGET,
    egress::scrubber::TARGET,
    registry::reference::TARGET,
    registry::manifest::TARGET,
    registry::challenge::TARGET,
    registry::logins::TARGET,
    registry::signature::TARGET,
    plugins::bundle::TARGET,
    objects::TARGET,
    lives::TARGET,
    words::TARGET,
    user_data::TARGET,
    kubeconfig::TARGET,
];

/// The target of this name.
pub fn named(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}
