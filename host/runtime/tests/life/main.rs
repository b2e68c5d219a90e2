//! Whole lives of Machines: the runtime and the core as they are, on `kube::Client` over a tower service, under paused
//! time. API server and cloud are in memory; no socket is opened and no real second is waited for.
//!
//! Each test brings a `Stage`, starts hosts on it, and looks at what users see, at the VMs, and at every request.

mod cloud;
mod kubelet;
mod panel;
mod stage;

mod busy_kubelet;
mod capacity;
mod claims;
mod class_check;
mod conformance;
mod controllers;
mod crashes;
mod crowds;
mod deletions;
mod deployments;
mod disruptions;
mod doubt;
mod drains;
mod faults;
mod forms;
mod freeze;
mod frugal;
mod intervals;
mod keeping;
mod leaders;
mod lifecycle;
mod lookout;
mod mended;
mod moved;
mod nodes;
mod orphans;
mod pins;
mod plugins;
mod policies;
mod prerequisites;
mod preserving;
mod reboots;
mod repeatable;
mod replacing;
mod retries;
mod secret_rules;
mod sets;
mod starts;
mod takeover;
mod telling;
mod theirs;
mod unmanaged;
