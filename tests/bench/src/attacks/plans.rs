//! Attackers: the hostile driver by a plan, or a plain program.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};

/// Between two calls of the driver that does not attack: what some thousand Machines ask of theirs.
pub(crate) const PAUSE_OF_CALLS: Duration = Duration::from_millis(2);

/// Attacks that are measured together.
pub(super) struct Attack {
    pub(super) what: &'static str,
    pub(super) plans: Vec<Plan>,
    /// Between two calls of the driver that does not attack.
    pub(super) pause: Duration,
}

/// The work that one attacker repeats.
#[derive(Clone)]
pub(super) enum Plan {
    /// A call of the hostile driver.
    Call(Value),
    /// A plain program at low priority reads from the cloud what a call of the driver may read, and hangs up. It shows
    /// what connections to a cloud on the same machine cost others, without the host.
    Read { path: &'static str },
}

/// Those of these names, or all if none is named.
pub(super) fn chosen(cloud: &str, names: &[String]) -> Result<Vec<Attack>> {
    let mut attacks = attacks(cloud);
    for name in names {
        if !attacks.iter().any(|attack| attack.what == name) {
            let known: Vec<_> = attacks.iter().map(|attack| attack.what).collect();
            bail!("there is no attack {name:?}: there are {}", known.join("; "));
        }
    }
    if !names.is_empty() {
        attacks.retain(|attack| names.iter().any(|name| name == attack.what));
    }
    Ok(attacks)
}

/// Each alone, then all at the same time. `cloud` is one that is hostile as well.
fn attacks(cloud: &str) -> Vec<Attack> {
    let some = |what, plans| Attack { what, plans, pause: PAUSE_OF_CALLS };
    let one = |what, plan| some(what, vec![Plan::Call(plan)]);
    let drip = json!({ "do": "fetch", "url": format!("{cloud}/drip") });
    let mut attacks = vec![
        // The yardstick: what the same measurement shows when nothing happens.
        some("none", Vec::new()),
        one("processor time", json!({ "do": "loop" })),
        one("processor time in the host", json!({ "do": "loop-in-host" })),
        one("memory", json!({ "do": "allocate" })),
        one("tables", json!({ "do": "grow-table", "elements": 30_000 })),
        one("stack", json!({ "do": "recurse" })),
        one("handles", json!({ "do": "leak", "what": "fields" })),
        one("log", json!({ "do": "log", "lines": 3_000 })),
        one("traps", json!({ "do": "trap" })),
        one("decompression bomb", json!({ "do": "fetch", "url": format!("{cloud}/bomb") })),
        one("answer without end", json!({ "do": "fetch", "url": format!("{cloud}/endless") })),
        some("the same by a plain program", vec![Plan::Read { path: "/endless" }]),
        some("slow loris", vec![Plan::Call(drip); 16]),
    ];
    let all = attacks.iter().flat_map(|attack| attack.plans.clone());
    let all: Vec<_> = all.filter(|plan| matches!(plan, Plan::Call(_))).collect();
    attacks.push(some("all at the same time", all.clone()));
    attacks.push(Attack {
        what: "the same, beside calls without a pause",
        plans: all,
        pause: Duration::ZERO,
    });
    attacks
}
