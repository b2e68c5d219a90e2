//! The hosts that requests of a driver reach.

use std::collections::BTreeSet;

use machinist_core::driver::{Vm, VmState};

use super::checks;
use crate::case::{Case, Outcome, must};

checks! {
    "host/granted" Shared cloud granted "a machine's life needs no request that the grants refuse";
    "host/declared" Shared cloud declared "each host that is asked is one that describe names";
    "host/offline" Shared offline offline
        "describe, validate-class, get-volume-ids, node-id, place and is-interruptible send nothing";
}

async fn life(case: &Case) -> Outcome {
    let mut machine = case.made("life").await?;
    // Their answers are for other checks.
    let _ = case.status(&mut machine).await;
    let _ = case.initialize(&mut machine).await;
    let _ = case.list().await;
    let _ = case.delete(&mut machine).await;
    Ok(())
}

async fn granted(case: Case) -> Outcome {
    life(&case).await?;
    let refusals = case.stage.observed().refusals.clone();
    must(refusals.is_empty(), || format!("the grants refuse {}", refusals.join(", ")))
}

async fn declared(case: Case) -> Outcome {
    life(&case).await?;
    let asked: BTreeSet<String> = case.stage.proxy.journal().into_iter().map(|entry| entry.host).collect();
    let wished = &case.bench.about.hosts;
    let of_class = case.profile().class.endpoint_host();
    let undeclared: Vec<&str> = asked
        .iter()
        .filter(|host| !wished.iter().chain(&of_class).any(|wish| is_host(wish, host)))
        .map(String::as_str)
        .collect();
    must(undeclared.is_empty(), || {
        format!(
            "{} is asked, and describe names {wished:?}: an operator grants what describe names (a host that the class \
             names is given to the kit by class.endpoint of the profile)",
            undeclared.join(", ")
        )
    })
}

/// A pattern of grants: `*` matches exactly one label, or a part of one.
fn is_host(pattern: &str, host: &str) -> bool {
    let (wanted, given): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), host.split('.').collect());
    let is_label = |wanted: &str, given: &str| match wanted.split_once('*') {
        Some((before, after)) => given.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        None => wanted.eq_ignore_ascii_case(given),
    };
    wanted.len() == given.len() && wanted.iter().zip(given).all(|(wanted, given)| is_label(wanted, given))
}

async fn offline(case: Case) -> Outcome {
    let specs = case.profile().volumes.iter().map(|volume| volume.spec.to_string()).collect();
    let _ = case.stage.host.get_volume_ids(case.bench.provider.clone(), None, specs).await;
    let classes = &case.profile().class;
    for spec in [&classes.valid].into_iter().chain(classes.invalid.iter().map(|class| &class.spec)) {
        let _ = case.stage.host.validate_class(case.class(spec)).await;
    }
    // Drivers without these answer that they do not offer them.
    let machine = case.machine("offline");
    let _ = case.place(&machine, "nowhere-9z").await;
    let _ = case.node_id(&machine, &vm()).await;
    let _ = case.is_interruptible(&machine).await;
    let refusals = [case.stage.refused_at_load(), &case.stage.observed().refusals].concat();
    must(refusals.is_empty(), || format!("a call without network tries {}", refusals.join(", ")))?;
    let sent = case.stage.proxy.journal().len();
    must(sent == 0, || format!("calls without network send {sent} requests"))
}

/// A VM that no cloud has.
fn vm() -> Vm {
    Vm {
        provider_id: "cloud:///vm-1".into(),
        node_name: "worker-offline".into(),
        state: VmState::Running,
        addresses: Vec::new(),
        failure_domain: Some("nowhere-9z".into()),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn a_star_is_one_label_or_a_part_of_one() {
        assert!(is_host("ec2.*.amazonaws.com", "ec2.eu-west-1.amazonaws.com"));
        assert!(is_host("10.0.0.7", "10.0.0.7") && is_host("api-*.example", "api-eu.example"));
        assert!(!is_host("*.example", "a.b.example") && !is_host("a.example", "b.example"));
    }
}
