//! Explains requests without an answer, with more detail for EC2 than the SDK.

use machinist_sdk::driver::{NoAnswer, NoAnswerReason};

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
    match &error.reason {
        NoAnswerReason::Denied => format!(
            "{unknown}: correct region in the MachineClass's providerSpec, or the plugin's grants: {host} with Action \
             {action} in egress, scheme aws-sigv4 with service ec2 and region {region} in auth, userData at form field \
             UserData in secrets"
        ),
        NoAnswerReason::NoSuchHost if !is_override => format!(
            "{unknown}, since it has no address: correct region in the MachineClass's providerSpec, or check DNS"
        ),
        NoAnswerReason::ConnectionRefused => format!(
            "the host {host} refuses connections: check the network towards it, and endpoint in the plugin's settings"
        ),
        NoAnswerReason::TimedOut => {
            format!("no answer of {host} in time: check the network towards it if this lasts")
        }
        NoAnswerReason::AddressDenied
        | NoAnswerReason::BadUrl
        | NoAnswerReason::RequestTooLarge
        | NoAnswerReason::NoSuchHost
        | NoAnswerReason::Unreachable
        | NoAnswerReason::Tls
        | NoAnswerReason::NoTimeLeft
        | NoAnswerReason::CutOff
        | NoAnswerReason::AnswerTooLarge
        | NoAnswerReason::Other(_) => error.explanation(),
    }
}
