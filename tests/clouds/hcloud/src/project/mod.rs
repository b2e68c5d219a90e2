//! One project: its objects, and the work on them.
//!
//! | module | what it does |
//! | --- | --- |
//! | `servers` | servers, from the request to the end of their deletion |
//! | `actions` | work that takes time, and its effects |
//! | `floating` | Floating IPs |
//! | `catalog` | objects that are there from the beginning: types, images, locations, networks and so on |
//! | `labels` | labels, and selectors of them |
//! | `show` | the objects as the API shows them |

pub(crate) mod actions;
pub(crate) mod catalog;
pub(crate) mod floating;
pub(crate) mod labels;
pub(crate) mod servers;
mod show;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::options::Options;
use actions::Action;
use catalog::Catalog;
use floating::FloatingIp;
use servers::Server;

pub(crate) use show::{show_action, show_firewall, show_group, show_image, show_key};

/// The label with the cluster's mark.
pub const CLUSTER_LABEL: &str = "machinist.dev/cluster";
/// The label with the Machine's uid.
pub const UID_LABEL: &str = "machinist.dev/machine-uid";

/// A refusal, as the API words it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The fields of `invalid_input`.
    pub(crate) fields: Vec<String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), fields: Vec::new() }
    }

    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self { fields: vec![field.to_owned()], ..Self::new(422, "invalid_input", message) }
    }

    pub(crate) fn absent(kind: &str, id: impl std::fmt::Display) -> Self {
        Self::new(404, "not_found", format!("{kind} with ID '{id}' not found"))
    }

    pub(crate) fn taken(kind: &str) -> Self {
        Self {
            fields: vec!["name".to_owned()],
            ..Self::new(409, "uniqueness_error", format!("{kind} name is already used"))
        }
    }
}

pub(crate) type Outcome<T> = Result<T, Refusal>;

/// The state of a project.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) options: Options,
    pub(crate) catalog: Catalog,
    pub(crate) servers: BTreeMap<i64, Server>,
    pub(crate) floating_ips: BTreeMap<i64, FloatingIp>,
    pub(crate) actions: BTreeMap<i64, Action>,
    /// Servers that were ever created, by their uid: more than one at a time is a duplicate.
    pub(crate) created: BTreeMap<String, u64>,
    pub(crate) most_at_once: BTreeMap<String, usize>,
    last_id: i64,
    /// Requests that are left of the hour, and when that was computed.
    tokens: f64,
    refilled: Instant,
}

impl Project {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            tokens: f64::from(options.requests_per_hour),
            options,
            catalog: Catalog::new(),
            servers: BTreeMap::new(),
            floating_ips: BTreeMap::new(),
            actions: BTreeMap::new(),
            created: BTreeMap::new(),
            most_at_once: BTreeMap::new(),
            last_id: 4_710,
            refilled: Instant::now(),
        }
    }

    pub(crate) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Takes one request of the hour's. False if there is none.
    pub(crate) fn take_request(&mut self) -> bool {
        let full = f64::from(self.options.requests_per_hour);
        let now = Instant::now();
        self.tokens = full.min(self.tokens + (now - self.refilled).as_secs_f64() * full / 3_600.0);
        self.refilled = now;
        let is_left = self.tokens >= 1.0;
        if is_left {
            self.tokens -= 1.0;
        }
        is_left
    }

    /// Requests of an hour, those that are left, and the seconds until all are there again.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a u32")]
    pub(crate) fn left(&self) -> Option<(u32, u32, u32)> {
        let full = f64::from(self.options.requests_per_hour);
        let seconds = ((full - self.tokens) * 3_600.0 / full).ceil();
        Some((self.options.requests_per_hour, self.tokens as u32, seconds as u32))
    }

    /// Notes how many servers with this uid there are now.
    pub(crate) fn count_of(&mut self, uid: &str) {
        let count = self.servers.values().filter(|server| server.label(UID_LABEL) == Some(uid)).count();
        let most = self.most_at_once.entry(uid.to_owned()).or_default();
        *most = count.max(*most);
    }
}
