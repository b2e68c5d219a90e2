//! The remediation of an unhealthy machine: what it has done, and what follows. Pure.

use machinist_api::infrastructure::MachinistRemediation;
use machinist_api::infrastructure::remediation::{MachinistRemediationStatus, REMEDIATED};
use machinist_core::infra_machine::remediation::RemediationReason;
use machinist_core::machine::Severity;

use super::reasons::Names;
use crate::explain::explanation::{Link, LinkState};
use crate::explain::read::Lookup;

/// The remediation, as a part of the chain. A machine that nobody called unhealthy has none.
pub(super) fn link(remediation: &Lookup<MachinistRemediation>) -> Option<Link> {
    let link = |state, says: String| Some(Link::new("remedy", state, says));
    let remediation = match remediation {
        Lookup::NotNamed | Lookup::Missing(_) => return None,
        Lookup::Unreadable(why) => return link(LinkState::Unknown, why.clone()),
        Lookup::Found(remediation) => remediation,
    };
    let name = remediation.metadata.name.as_deref().unwrap_or_default();
    let status = remediation.status.clone().unwrap_or_default();
    let reboots = match (status.retry_count.unwrap_or(0), remediation.retry_limit()) {
        (done, 1) => format!("{done} of at most 1 reboot"),
        (done, limit) => format!("{done} of at most {limit} reboots"),
    };
    let Some((reason, message)) = reported(&status) else {
        let says = format!("MachinistRemediation {name}: {reboots}; no host has looked at it yet");
        return link(LinkState::Absent, says);
    };
    let state = match RemediationReason::parse(reason) {
        Some(RemediationReason::Healthy) => LinkState::Good,
        Some(reason) if reason.severity() == Severity::Warning => LinkState::Bad,
        Some(_) | None => LinkState::Absent,
    };
    link(state, format!("MachinistRemediation {name}: {reboots}; {reason}: {message}"))
}

/// Returns the next step of the remediation, if there is one.
pub(super) fn next(remediation: Option<&MachinistRemediation>, names: &Names) -> Option<String> {
    use RemediationReason as Reason;
    let remediation = remediation?;
    let name = remediation.metadata.name.as_deref().unwrap_or_default();
    let status = remediation.status.clone().unwrap_or_default();
    let (reason, _) = reported(&status)?;
    let Some(reason) = RemediationReason::parse(reason) else {
        return Some(format!(
            "{reason} of MachinistRemediation {name} is a reason of another version of the host: its message says what \
             to do"
        ));
    };
    let Names { owner, .. } = names;
    let seconds = remediation.timeout_seconds();
    Some(match reason {
        Reason::Healthy => format!("the MachineHealthCheck deletes MachinistRemediation {name}"),
        Reason::Rebooted if status.retry_count.unwrap_or(0) < limit(remediation) => format!(
            "{owner} has {seconds} s from the reboot to become healthy; then its VM is rebooted again"
        ),
        Reason::Rebooted => format!(
            "{owner} has {seconds} s from the reboot to become healthy; then its owner is asked to replace it"
        ),
        Reason::RebootFailed => "the driver is asked for the reboot again".to_owned(),
        Reason::OwnerReplaces => format!(
            "the owner of {owner} deletes and replaces it, within its own limits for unhealthy machines; a Machine \
             without an owner stays"
        ),
        Reason::Ended => format!("nothing more is rebooted: {owner} or the remediation is being deleted"),
        Reason::WaitingForMachine => {
            format!("{owner} must own MachinistRemediation {name}: let a MachineHealthCheck make it")
        }
        Reason::VmUnclear => {
            "its VM is rebooted once it is certain which one it is: condition Ready says what is missing"
                .to_owned()
        }
        Reason::WaitingForDriver => {
            "its VM is rebooted once a driver serves the provider: `machinist plugin list` shows which do"
                .to_owned()
        }
        Reason::WaitingForCredentials => {
            "its VM is rebooted once the credentials of part identity are there".to_owned()
        }
        Reason::Paused => {
            format!("nothing is rebooted while {} or MachinistRemediation {name} is paused", names.cluster)
        }
        Reason::WriteFailed => {
            format!(
                "the write is tried again; if it keeps failing, check the host's rights in {}",
                names.namespace
            )
        }
    })
}

fn limit(remediation: &MachinistRemediation) -> i32 {
    i32::try_from(remediation.retry_limit()).unwrap_or(i32::MAX)
}

/// Returns reason and message of the condition.
fn reported(status: &MachinistRemediationStatus) -> Option<(&str, &str)> {
    let condition = status.conditions.iter().find(|condition| condition.type_ == REMEDIATED)?;
    Some((&condition.reason, &condition.message))
}
