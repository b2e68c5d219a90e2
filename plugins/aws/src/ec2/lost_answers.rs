//! Explains requests without an answer, with more detail for EC2 than the SDK.

use machinist_sdk::driver::{NoAnswer, Trouble};

use crate::ec2::errors::Target;

/// Explains the problem of a target for this action, and what to do.
pub(crate) fn explanation(error: &NoAnswer, action: &str, target: &Target) -> String {
    let Target { host, region, is_override } = target;
    // If the operator chose the endpoint, its host does not depend on the region.
    let unknown = if *is_override {
        format!("the plugin's grants do not allow the host {host}, or not for region {region}")
    } else {
        format!("region {region} is unknown or the plugin's grants do not allow its host {host}")
    };
    match &error.trouble {
        Trouble::Denied => format!(
            "{unknown}: correct region in the MachineClass's providerSpec, or the plugin's grants: {host} with Action \
             {action} in egress, scheme aws-sigv4 with service ec2 and region {region} in auth, userData at form field \
             UserData in secrets"
        ),
        Trouble::NoSuchHost if !is_override => format!(
            "{unknown}, since it has no address: correct region in the MachineClass's providerSpec, or check DNS"
        ),
        Trouble::ConnectionRefused => format!(
            "the host {host} refuses connections: check the network towards it, and endpoint in the plugin's settings"
        ),
        Trouble::TimedOut => {
            format!("no answer of {host} in time: check the network towards it if this lasts")
        }
        Trouble::AddressDenied
        | Trouble::BadUrl
        | Trouble::RequestTooLarge
        | Trouble::NoSuchHost
        | Trouble::Unreachable
        | Trouble::Tls
        | Trouble::NoTimeLeft
        | Trouble::CutOff
        | Trouble::AnswerTooLarge
        | Trouble::Other(_) => error.explanation(),
    }
}
