//! What the hostile driver is told to do.

use serde_json::{Value, json};

/// Attacks that are measured together.
pub(super) struct Attack {
    pub(super) what: &'static str,
    /// One caller each.
    pub(super) plans: Vec<Value>,
}

/// Each by itself, then all at the same time. `cloud` is one that is hostile as well.
pub(super) fn attacks(cloud: &str) -> Vec<Attack> {
    let one = |what, plan| Attack { what, plans: vec![plan] };
    let drip = json!({ "do": "fetch", "url": format!("{cloud}/drip") });
    let mut attacks = vec![
        // The yardstick: what the same measurement shows when nothing happens.
        Attack { what: "none", plans: Vec::new() },
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
        Attack { what: "slow loris", plans: vec![drip; 16] },
    ];
    let all = attacks.iter().flat_map(|attack| attack.plans.clone()).collect();
    attacks.push(Attack { what: "all at the same time", plans: all });
    attacks
}
