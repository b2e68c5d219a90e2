//! All targets.

mod calls;
mod egress;
mod kubeconfig;
mod lives;
mod objects;
pub(crate) mod plugins;
pub(crate) mod registry;
mod user_data;
mod words;

use crate::target::Target;

/// In the order in which they run.
pub const ALL: [Target; 27] = [
    configmap::TARGET,
    parts::TARGET,
    packed::TARGET,
    component::TARGET,
    grants::TARGET,
    terms::TARGET,
    guest::TARGET,
    policy::TARGET,
    recording::TARGET,
    calls::TARGET,
    ec2::TARGET,
    egress::TARGET,
    url::TARGET,
    token::TARGET,
    pace::TARGET,
    scrubber::TARGET,
    reference::TARGET,
    manifest::TARGET,
    challenge::TARGET,
    logins::TARGET,
    signature::TARGET,
    bundle::TARGET,
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
