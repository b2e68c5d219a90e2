//! The loop that finds VMs without a Machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use machinist_api::{MachineClass, names};
use machinist_core::driver::Listed;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::{DriverFact, Severity};
use machinist_core::safety::listing::{ListingTrust, Trust};
use machinist_core::safety::orphans::{
    ClassListing, Findings, OrphanCandidate, OrphanRule, SecondVm, Sightings, VmOwners, VmOwnership,
    ownership,
};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::{ClassName, Name, ObjectKey, ProviderId};
use machinist_core::value::same_vm::vm_name;
use tracing::{debug, info, warn};

use crate::cache::StoreReader;
use crate::controllers::state::TenantState;
use crate::driver_calls::driver_choice::DriverChoice;
use crate::metrics::{ListingEnd, QueueName};

use super::SafetyWatch;
use super::delete::{DeletionResult, delete_vm, report_on_class, report_on_machine};
use super::foreign::Foreign;
use super::listing::{ListError, list};
use super::marks;
use super::owners::{self, Cached, KnownMachines, named};

/// Listings at the same time: accounts have rate limits, and reconciles come first.
const CONCURRENT_LISTINGS: usize = 4;

/// VMs that one round deletes at most. A mistake that gets past everything else stays small until somebody sees it.
const DELETIONS_PER_ROUND: usize = 10;

/// Deletions at the same time.
const CONCURRENT_DELETIONS: usize = 4;

/// How long a VM whose deletion was accepted may stay in listings before its deletion is requested again.
const DELETION_TIME: SignedDuration = SignedDuration::from_mins(5);

/// How often a remaining second VM is reported.
const REPORT_INTERVAL: SignedDuration = SignedDuration::from_hours(24);

/// The pause after a Machine was deleted or a driver found several VMs, for the cloud to complete its work.
const QUIET_TIME: Duration = Duration::from_secs(10);

/// Rounds are never closer together.
const MIN_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// Runs until it is aborted.
pub(super) async fn watch_orphans(watch: SafetyWatch) {
    let rule = rule(watch.tenant.settings.orphan_vms_period, &watch);
    let mut search = Search {
        watch,
        rule,
        sightings: Sightings::default(),
        classes: BTreeMap::new(),
        reported: BTreeMap::new(),
        is_suspicious: false,
        seen: KnownMachines::default(),
    };
    loop {
        if !search.watch.may_act() {
            search.forget_evidence();
            search.watch.until_allowed().await;
        }
        let began = search.watch.context.clock.now();
        search.round().await;
        let took = search.watch.context.clock.now().duration_since(began);
        search.watch.metrics.queue.round(QueueName::SafetyOrphanVms, took);
        let next = search.watch.context.clock.instant(search.next_round());
        tokio::select! {
            biased;
            () = search.watch.context.orphans_are_likely.notified() => {
                tokio::time::sleep(QUIET_TIME).await;
                search.hurry();
            }
            () = tokio::time::sleep_until(next) => {}
        }
    }
}

/// The VMs that Nodes name as their own.
fn on_nodes(tenant: &TenantState) -> BTreeSet<String> {
    let nodes = tenant.nodes.as_ref().map(StoreReader::all).unwrap_or_default();
    let id = |node: &Node| vm_name(node.spec.as_ref()?.provider_id.as_deref()?);
    nodes.iter().filter_map(|(_, node)| id(node)).collect()
}

fn deletes_by_id(tenant: &TenantState, class: &MachineClass) -> bool {
    match DriverChoice::of(Some(class)).fact(&*tenant.drivers) {
        DriverFact::Ready(driver) => driver.capabilities.delete_by_id,
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => false,
    }
}

/// Somebody has said that VMs are to go although nothing shows that they were of this control plane.
fn releases_strangers(class: &MachineClass) -> bool {
    let annotations = class.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(names::annotations::DELETE_STRANGERS))
        .is_some_and(|word| word == "true")
}

/// The VMs of Machines that are there and not being deleted, with the Machine's class.
fn living(machines: &Cached) -> BTreeMap<ProviderId, Option<&str>> {
    let living = machines.iter().filter(|(_, machine)| machine.metadata.deletion_timestamp.is_none());
    let of_living = living.filter_map(|(_, machine)| {
        Some((ProviderId::new(machine.provider_id()?), machine.spec.class.name.as_deref()))
    });
    of_living.collect()
}

/// It names a Machine that has stored it as its own. Nearly every VM is, and nothing has to be built to see that.
fn is_plain(vm: &Listed, machines: &Cached) -> bool {
    let machine = named(machines, vm.machine_name.as_str());
    machine.is_some_and(|machine| machine.provider_id() == Some(vm.provider_id.as_str()))
}

fn rule(period: SignedDuration, watch: &SafetyWatch) -> OrphanRule {
    let settings = &watch.tenant.settings;
    let spacing = spacing(period);
    OrphanRule {
        sightings: settings.orphan_vm_sightings,
        spacing,
        // A few rounds may fail in between.
        staleness: period.max(spacing).saturating_mul(4),
        minimum_age: settings.orphan_vm_minimum_age,
    }
}

/// Three listings fit into a period, so that the next round can delete the findings of this one.
fn spacing(period: SignedDuration) -> SignedDuration {
    period / 3
}

/// The state of one class's listings.
#[derive(Default)]
struct ClassState {
    trust: Trust,
    failures: u32,
    /// The last failure, so that it is reported once.
    problem: Option<String>,
    due: Option<Timestamp>,
    listed_at: Option<Timestamp>,
    /// How many VMs that listing had.
    vms: usize,
    foreign: Foreign,
}

/// The search, with all its evidence. Lost with the process, which then only takes longer.
struct Search {
    watch: SafetyWatch,
    rule: OrphanRule,
    sightings: Sightings,
    classes: BTreeMap<ClassName, ClassState>,
    /// VMs of Machines that have another one: the class whose listing showed it, and the last report.
    reported: BTreeMap<(ProviderId, Name), (ClassName, Timestamp)>,
    is_suspicious: bool,
    /// Machines that were there at some time.
    seen: KnownMachines,
}

impl Search {
    /// Evidence from before an outage is worth nothing after it.
    fn forget_evidence(&mut self) {
        self.sightings = Sightings::default();
        for class in self.classes.values_mut() {
            class.due = None;
        }
    }

    /// Lists all classes soon after a sign of an orphan, but not again and again while Machines come and go.
    fn hurry(&mut self) {
        let now = self.watch.context.clock.now();
        for class in self.classes.values_mut().filter(|class| class.failures == 0) {
            let pause = self.rule.pause(class.vms);
            let earliest = class.listed_at.and_then(|at| at.checked_add(pause).ok()).unwrap_or(now).max(now);
            class.due = Some(class.due.map_or(earliest, |due| due.min(earliest)));
        }
    }

    fn next_round(&self) -> Timestamp {
        let now = self.watch.context.clock.now();
        let period = self.watch.tenant.settings.orphan_vms_period;
        let later = |pause| now.checked_add(pause).unwrap_or(Timestamp::MAX);
        let classes =
            self.classes.values().filter_map(|class| class.due).min().unwrap_or_else(|| later(period));
        // A short period is intended; beyond that no retry-after of a cloud makes rounds follow each other without a
        // pause.
        classes.max(later(MIN_PAUSE.min(self.rule.spacing).max(SignedDuration::from_millis(100))))
    }

    async fn round(&mut self) {
        let classes = self.known_classes();
        let names: BTreeSet<ClassName> = classes.keys().cloned().collect();
        self.classes.retain(|name, _| names.contains(name));
        let now = self.watch.context.clock.now();
        let is_due = |name: &ClassName| {
            self.classes.get(name).and_then(|class| class.due).is_none_or(|due| due <= now)
        };
        let due: Vec<(ClassName, Arc<MachineClass>)> =
            classes.clone().into_iter().filter(|(name, _)| is_due(name)).collect();
        let tenant = &self.watch.tenant;
        let listings: Vec<_> = stream::iter(due)
            .map(|(name, class)| async move {
                let listing = list(tenant, &class).await;
                (name, class, listing)
            })
            // In order, so that a run can be repeated.
            .buffered(CONCURRENT_LISTINGS)
            .collect()
            .await;
        let mut trusted = Vec::new();
        let machines = self.watch.tenant.machines.all();
        let living = living(&machines);
        self.seen.note(&machines, now);
        for (name, class, listing) in listings {
            match listing {
                Ok(vms) => trusted.extend(self.listed(&name, &class, vms, &living)),
                Err(error) => self.not_listed(&name, &class, error),
            }
        }
        if !self.watch.may_act() {
            return;
        }
        let findings = match self.judge(&trusted, &names, &machines).await {
            Ok(findings) => findings,
            Err(error) => {
                debug!(error = %error, "round without result: Machines cannot be listed");
                self.retry_soon(&trusted);
                return;
            }
        };
        if !self.watch.may_act() {
            return;
        }
        marks::store(&self.watch, &trusted, &classes, &machines).await;
        self.report_seconds(&classes, &trusted, &findings);
        self.report_foreign(&classes, &trusted, &findings);
        self.report(&classes, &findings);
        self.delete(&classes, findings.candidates).await;
        self.watch.metrics.safety.orphans(self.sightings.len(), findings.fresh.len());
        self.plan(&trusted);
    }

    fn known_classes(&self) -> BTreeMap<ClassName, Arc<MachineClass>> {
        let classes = self.watch.tenant.classes.all().into_iter();
        classes.map(|(ObjectKey { name, .. }, class)| (ClassName::new(name.as_str()), class)).collect()
    }

    /// A complete listing, if it is believed.
    fn listed(
        &mut self,
        name: &ClassName,
        class: &MachineClass,
        vms: Vec<Listed>,
        living: &BTreeMap<ProviderId, Option<&str>>,
    ) -> Option<ClassListing> {
        let (now, spacing) = (self.watch.context.clock.now(), self.rule.spacing);
        let state = self.classes.entry(name.clone()).or_default();
        (state.failures, state.problem, state.due) = (0, None, None);
        (state.listed_at, state.vms) = (Some(now), vms.len());
        let of_class = living.iter().filter(|(_, class)| **class == Some(name.as_str()));
        let expected = of_class.map(|(id, _)| id.clone()).collect();
        let ids = vms.iter().map(|vm| vm.provider_id.clone()).collect();
        match state.trust.observe(&ids, &expected, |id| living.contains_key(id), spacing, now) {
            ListingTrust::Trusted => {
                self.watch.metrics.safety.listing(ListingEnd::Trusted);
                let releases_strangers = releases_strangers(class);
                let deletes_by_id = deletes_by_id(&self.watch.tenant, class);
                Some(ClassListing { class: name.clone(), vms, releases_strangers, deletes_by_id })
            }
            ListingTrust::Distrusted { before, missing, left } => {
                self.watch.metrics.safety.listing(ListingEnd::Distrusted);
                state.due = Some(now.checked_add(spacing).unwrap_or(Timestamp::MAX));
                warn!(class = %name, before, missing, left, "listing not believed");
                let message = format!(
                    "a listing of VMs lacks {missing} of {before} although their Machines are there: it is not believed before \
                     {left} more say the same; look whether the account and the tags of the VMs are as they were"
                );
                report_on_class(&self.watch, class, "ListingDistrusted", &message, Severity::Warning);
                None
            }
        }
    }

    fn not_listed(&mut self, name: &ClassName, class: &MachineClass, error: ListError) {
        let now = self.watch.context.clock.now();
        let state = self.classes.entry(name.clone()).or_default();
        let pause = match error {
            ListError::NotOffered => {
                (state.failures, state.problem) = (0, None);
                self.watch.tenant.settings.orphan_vms_period
            }
            ListError::Failed { message, retry_after } => {
                self.watch.metrics.safety.listing(ListingEnd::Failed);
                debug!(class = %name, message, "class not listed");
                state.failures = state.failures.saturating_add(1);
                if state.problem.as_ref() != Some(&message) {
                    let note =
                        format!("VMs without a Machine cannot be looked for: {message}; it is tried again");
                    report_on_class(&self.watch, class, "ListingFailed", &note, Severity::Warning);
                    state.problem = Some(message);
                }
                let hint =
                    retry_after.unwrap_or_default().min(machinist_core::scheduling::retry::MAX_RETRY_AFTER);
                RetryPolicy::LONG.delay(state.failures, self.watch.context.jitter()).max(hint)
            }
        };
        state.due = Some(now.checked_add(pause).unwrap_or(Timestamp::MAX));
    }

    /// Evaluates the listings. The cache is enough to see that a VM has its Machine, and to keep watching one without.
    /// Before such a VM is reported or deleted, the Machines are listed from the API server, after the listings of VMs.
    async fn judge(
        &mut self,
        listings: &[ClassListing],
        classes: &BTreeSet<ClassName>,
        machines: &Cached,
    ) -> Result<Findings, ActError> {
        let is_owned = |vm: &Listed| is_plain(vm, machines);
        let are_all_plain = listings.iter().flat_map(|listing| &listing.vms).all(is_owned);
        let nodes = || on_nodes(&self.watch.tenant);
        let kin = || self.seen.kin();
        let infrastructure = || owners::infrastructure(&self.watch.tenant);
        let cached = if are_all_plain {
            VmOwners::default()
        } else {
            owners::cached(machines).with_kin(kin()).with_nodes(nodes()).with_infrastructure(infrastructure())
        };
        let whose = |vm: &Listed| if is_owned(vm) { VmOwnership::Owned } else { ownership(vm, &cached) };
        let mut sightings = self.sightings.clone();
        let now = self.watch.context.clock.now();
        let findings = sightings.look(listings, classes, whose, &self.rule, now);
        if !self.needs_proof(&findings) {
            self.sightings = sightings;
            return Ok(findings);
        }
        let live = owners::live(&self.watch).await?.with_kin(kin()).with_nodes(nodes());
        let live = live.with_infrastructure(infrastructure());
        if !self.watch.may_act() {
            return Ok(Findings::default());
        }
        let now = self.watch.context.clock.now();
        Ok(self.sightings.look(listings, classes, |vm| ownership(vm, &live), &self.rule, now))
    }

    /// Returns whether a VM would be reported or deleted.
    fn needs_proof(&self, findings: &Findings) -> bool {
        let now = self.watch.context.clock.now();
        let is_reported = |second: &SecondVm| !self.is_report_due(second, now);
        !findings.fresh.is_empty()
            || !findings.candidates.is_empty()
            || findings.foreign.iter().any(|(vm, _)| !self.knows_foreign(vm))
            || !findings.seconds.iter().all(is_reported)
            || (findings.are_suspicious(&self.rule) && !self.is_suspicious)
    }

    fn retry_soon(&mut self, listings: &[ClassListing]) {
        let now = self.watch.context.clock.now();
        for listing in listings {
            let state = self.classes.entry(listing.class.clone()).or_default();
            state.failures = state.failures.saturating_add(1);
            let pause = RetryPolicy::SHORT.delay(state.failures, self.watch.context.jitter());
            state.due = Some(now.checked_add(pause).unwrap_or(Timestamp::MAX));
        }
    }

    /// When each class is listed again: soon while there is something to watch.
    fn plan(&mut self, listings: &[ClassListing]) {
        let now = self.watch.context.clock.now();
        let period = self.watch.tenant.settings.orphan_vms_period;
        let later = |pause| now.checked_add(pause).unwrap_or(Timestamp::MAX);
        let regular = if self.sightings.is_empty() { later(period) } else { later(self.rule.spacing) };
        let due = self.sightings.next_request().map_or(regular, |order| regular.min(order.max(now)));
        for listing in listings {
            self.classes.entry(listing.class.clone()).or_default().due = Some(due);
        }
    }

    /// A second VM costs money every day, so the host reports it every day.
    fn is_report_due(&self, second: &SecondVm, now: Timestamp) -> bool {
        let reported = self.reported.get(&(second.vm.clone(), second.machine.clone()));
        // After a clock was set back, the last report is in the future.
        reported.is_none_or(|(_, at)| now < *at || now.duration_since(*at) >= REPORT_INTERVAL)
    }

    fn report_seconds(
        &mut self,
        classes: &BTreeMap<ClassName, Arc<MachineClass>>,
        listed: &[ClassListing],
        findings: &Findings,
    ) {
        let now = self.watch.context.clock.now();
        let is_listed = |class: &ClassName| listed.iter().any(|listing| listing.class == *class);
        let is_there = |key: &(ProviderId, Name)| {
            findings.seconds.iter().any(|second| (&second.vm, &second.machine) == (&key.0, &key.1))
        };
        self.reported
            .retain(|key, (class, _)| classes.contains_key(class) && (!is_listed(class) || is_there(key)));
        for second in &findings.seconds {
            let SecondVm { vm, class, machine, has, may_go } = second;
            if !self.is_report_due(second, now) {
                continue;
            }
            self.reported.insert((vm.clone(), machine.clone()), (class.clone(), now));
            warn!(provider_id = %vm, %machine, %has, "second VM of a Machine found");
            let next_step = if *may_go {
                "it is deleted by its id once enough listings have shown both"
            } else {
                "it goes with or after that Machine and not before, since an order could reach the other one, or since a Node \
                 lives on it; delete it in the cloud to be rid of it earlier"
            };
            let message =
                format!("VM {vm} carries the marks of Machine {machine}, which has {has}: {next_step}");
            if let Some(class) = classes.get(class) {
                report_on_class(&self.watch, class, "SecondVm", &message, Severity::Warning);
            }
            report_on_machine(&self.watch, machine, "SecondVm", &message);
        }
        self.watch.metrics.safety.second_vms(self.reported.len());
    }

    fn knows_foreign(&self, vm: &ProviderId) -> bool {
        self.classes.values().any(|class| class.foreign.vms().contains(vm))
    }

    fn report_foreign(
        &mut self,
        classes: &BTreeMap<ClassName, Arc<MachineClass>>,
        listed: &[ClassListing],
        findings: &Findings,
    ) {
        let now = self.watch.context.clock.now();
        let is_listed = |class: &ClassName| listed.iter().any(|listing| listing.class == *class);
        // A VM that another class's listing has shown stays with that class until its next listing.
        let others = self.classes.iter().filter(|(class, _)| !is_listed(class));
        let others: BTreeSet<ProviderId> =
            others.flat_map(|(_, state)| state.foreign.vms().iter().cloned()).collect();
        for ClassListing { class: name, .. } in listed {
            let of_class =
                findings.foreign.iter().filter(|(vm, class)| class == name && !others.contains(vm));
            let vms = of_class.map(|(vm, _)| vm.clone()).collect();
            let state = self.classes.entry(name.clone()).or_default();
            if let (Some(message), Some(class)) = (state.foreign.report(vms, now), classes.get(name)) {
                warn!(class = %name, message, "VMs without a Machine that carry no Machine's uid");
                report_on_class(&self.watch, class, "ForeignVms", &message, Severity::Warning);
            }
        }
        let there = self.classes.values().map(|class| class.foreign.vms().len()).sum();
        self.watch.metrics.safety.foreign_vms(there);
    }

    fn report(&mut self, classes: &BTreeMap<ClassName, Arc<MachineClass>>, findings: &Findings) {
        let report_on = |class: &ClassName, reason: &str, message: &str| {
            if let Some(class) = classes.get(class) {
                report_on_class(&self.watch, class, reason, message, Severity::Warning);
            }
        };
        for (vm, class) in &findings.fresh {
            info!(provider_id = %vm, %class, "VM without a Machine found");
            let message = format!(
                "VM {vm} has no Machine: it is deleted when {} listings have shown that and it is {} old, unless a Machine \
                 with its id turns up",
                findings.needed,
                machinist_core::value::duration::format(self.rule.minimum_age),
            );
            report_on(class, "OrphanVmFound", &message);
        }
        let is_suspicious = findings.are_suspicious(&self.rule);
        if is_suspicious && !std::mem::replace(&mut self.is_suspicious, is_suspicious) {
            let (orphans, listed) = (findings.orphans, findings.listed);
            warn!(orphans, listed, "most VMs have no Machine");
            let mut message = format!(
                "{orphans} of {listed} VMs have no Machine, as if Machines had got lost: they are deleted only when {} \
                 listings have shown that; to keep them, create ConfigMap {} in this namespace",
                findings.needed,
                machinist_core::scheduling::gate::FREEZE_REQUEST,
            );
            if findings.strangers > 0 {
                let (strangers, mark) = (findings.strangers, &self.watch.tenant.settings.cluster);
                let _ = write!(
                    message,
                    ". Nothing shows that {strangers} of them were ever of this control plane: those stay. Look whether another \
                     one was started with --cluster-id={mark}; if they are to go, annotate the class with {}=true",
                    names::annotations::DELETE_STRANGERS,
                );
            }
            for class in classes.keys() {
                report_on(class, "OrphanVmsHeld", &message);
            }
        }
        self.is_suspicious = is_suspicious;
    }

    async fn delete(
        &mut self,
        classes: &BTreeMap<ClassName, Arc<MachineClass>>,
        candidates: Vec<OrphanCandidate>,
    ) {
        let watch = &self.watch;
        let deletion_requests: Vec<(OrphanCandidate, DeletionResult)> =
            stream::iter(candidates.into_iter().take(DELETIONS_PER_ROUND))
                .map(|candidate| async move {
                    let result = match classes.get(&candidate.class) {
                        Some(class) => delete_vm(watch, class, &candidate).await,
                        None => DeletionResult::Forbidden,
                    };
                    (candidate, result)
                })
                .buffered(CONCURRENT_DELETIONS)
                .collect()
                .await;
        let now = self.watch.context.clock.now();
        for (candidate, result) in deletion_requests {
            let vm = &candidate.vm.provider_id;
            match result {
                DeletionResult::Accepted => self.sightings.accepted(vm, DELETION_TIME, now),
                DeletionResult::InProgress { state, ask_again } => {
                    self.sightings.in_progress(vm, state, ask_again, now);
                }
                DeletionResult::Failed { state, pause } => self.sightings.failed(vm, state, pause, now),
                DeletionResult::Forbidden => {}
            }
        }
    }
}
