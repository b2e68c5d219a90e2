//! Health policies: which are about a Machine, what they are asked, and what they answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use machinist_api::{Machine, names};
use machinist_core::health_policy::{
    ASK_AGAIN, Action, Asked, ConditionFact, DomainFact, HistoryFact, NodeQuestion, Opinion, PoliciesFact,
    PolicyFact, Question, RawAnswer, Reboots, Standing, Subject, Verdict, VerdictCache, opinion_of,
};
use machinist_core::machine::node::health::{READY, Status};
use machinist_core::machine::{DriverFact, MachineView};
use machinist_core::value::id::{FailureDomain, ObjectKey};
use machinist_core::value::phase::Phase;

use crate::cache::StoreReader;
use crate::cache::fields::{node_name_of, phase_of};
use crate::client::field_manager::REBOOTS;
use crate::ports::HealthPolicies;

/// The caches that questions to policies are made from.
pub(crate) struct PolicyCaches<'a> {
    pub(crate) machines: &'a StoreReader<Machine>,
    pub(crate) nodes: Option<&'a StoreReader<Node>>,
}

/// The policies of one tenant, and their answers.
#[derive(Clone)]
pub(crate) struct Policies {
    port: Arc<dyn HealthPolicies>,
    cache: Arc<Mutex<VerdictCache>>,
    counts: Arc<Mutex<Option<DomainCounts>>>,
}

/// What one pass has to ask.
#[derive(Debug)]
pub(crate) struct PolicyQuery {
    question: Question,
    to_ask: Vec<Asked>,
}

/// How many Machines each failure domain has, and how many of them are silent.
#[derive(Debug)]
struct DomainCounts {
    at: Timestamp,
    domains: BTreeMap<Option<FailureDomain>, (u32, u32)>,
}

/// All Machines are counted at most this often: policies weigh minutes, and a count goes over every Machine.
const COUNTS_AGE: SignedDuration = SignedDuration::from_secs(2);

impl Policies {
    pub(crate) fn new(port: Arc<dyn HealthPolicies>) -> Self {
        Self { port, cache: Arc::default(), counts: Arc::default() }
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.cache().forget(machine);
    }

    /// What is known, and what has to be asked. Nothing is asked here.
    pub(crate) fn observe(
        &self,
        caches: &PolicyCaches<'_>,
        view: &MachineView,
        machine: &Machine,
        node: Option<&Node>,
        now: Timestamp,
    ) -> (PoliciesFact, Option<PolicyQuery>) {
        let reboots = reboots(machine);
        let mut fact = PoliciesFact { reboots, is_told: reports_policy(machine), ..PoliciesFact::default() };
        let all = self.port.policies();
        if all.is_empty() {
            return (fact, None);
        }
        let subject = subject(view, machine);
        let about: Vec<&PolicyFact> = all.iter().filter(|policy| policy.scope.covers(&subject)).collect();
        if about.is_empty() {
            return (fact, None);
        }
        let question = Question {
            machine: subject,
            node: node.map(node_question),
            history: HistoryFact {
                phase: view.machine.phase,
                phase_since: view.machine.phase_since,
                reboots: fact.reboots.times().to_vec(),
            },
            domain: self.domain(caches, machine, node, now),
        };
        let (can_be_asked, cannot): (Vec<_>, Vec<_>) =
            about.into_iter().partition(|policy| matches!(policy.standing, Standing::Serving { .. }));
        fact.opinions = cannot.into_iter().map(|policy| unknown_opinion(policy, now)).collect();
        let asked: Vec<Asked> = can_be_asked.into_iter().filter_map(asked).collect();
        let cache = self.cache();
        let to_ask = cache.missing(&question, &asked, now);
        let known: Vec<Asked> = asked.into_iter().filter(|asked| !to_ask.contains(asked)).collect();
        fact.opinions.extend(cache.look_up(&question, &known, now).unwrap_or_default());
        fact.to_ask = to_ask.iter().map(|asked| asked.policy.clone()).collect();
        let query = (!to_ask.is_empty()).then_some(PolicyQuery { question, to_ask });
        (fact, query)
    }

    /// Asks, and keeps the answers.
    pub(crate) async fn ask(&self, query: &PolicyQuery, now: Timestamp) -> Vec<Opinion> {
        let asked = query.to_ask.iter().map(async |asked| {
            let answer = self.port.evaluate(&asked.policy, query.question.clone(), now).await;
            (asked, opinion_of(asked, answer.map_err(|error| error.to_string()), now))
        });
        let answers = join_all(asked).await;
        let mut cache = self.cache();
        answers
            .into_iter()
            .map(|(asked, opinion)| {
                cache.keep(&query.question, asked.generation, opinion.clone());
                opinion
            })
            .collect()
    }

    fn cache(&self) -> MutexGuard<'_, VerdictCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn domain(
        &self,
        caches: &PolicyCaches<'_>,
        machine: &Machine,
        node: Option<&Node>,
        now: Timestamp,
    ) -> DomainFact {
        let name = domain_of(machine, node);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |counts: &DomainCounts| counts.at <= now && now.duration_since(counts.at) < COUNTS_AGE;
        if !counts.as_ref().is_some_and(is_fresh) {
            *counts = Some(DomainCounts { at: now, domains: count(caches) });
        }
        let counted = counts.as_ref().and_then(|counts| counts.domains.get(&name)).copied();
        let (machines, silent) = counted.unwrap_or_default();
        // The count may be older than this Machine's own news.
        let is_silent = !node.is_some_and(is_ready);
        DomainFact { name, machines: machines.max(1), silent: silent.max(u32::from(is_silent)) }
    }
}

fn count(caches: &PolicyCaches<'_>) -> BTreeMap<Option<FailureDomain>, (u32, u32)> {
    let mut domains: BTreeMap<Option<FailureDomain>, (u32, u32)> = BTreeMap::new();
    for (_, machine) in caches.machines.all() {
        if machine.metadata.deletion_timestamp.is_some() || !has_joined(phase_of(&machine)) {
            continue;
        }
        let node =
            node_name_of(&machine).and_then(|name| caches.nodes?.get(&ObjectKey::new("", name.as_str())));
        let (machines, silent) = domains.entry(domain_of(&machine, node.as_deref())).or_default();
        *machines += 1;
        if !node.is_some_and(|node| is_ready(&node)) {
            *silent += 1;
        }
    }
    domains
}

fn has_joined(phase: Phase) -> bool {
    match phase {
        Phase::Running | Phase::Unknown | Phase::Failed => true,
        Phase::New
        | Phase::Pending
        | Phase::Available
        | Phase::CrashLoopBackOff
        | Phase::Terminating
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => false,
    }
}

fn is_ready(node: &Node) -> bool {
    conditions(node).iter().any(|condition| condition.type_ == READY && condition.status == "True")
}

fn conditions(node: &Node) -> &[NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}

/// Where the driver says that the VM is, else where its Node says.
fn domain_of(machine: &Machine, node: Option<&Node>) -> Option<FailureDomain> {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let reported = own.and_then(|own| own.failure_domain.as_deref());
    let label = || node?.metadata.labels.as_ref()?.get(names::labels::ZONE).map(String::as_str);
    reported.or_else(label).filter(|name| !name.is_empty()).map(FailureDomain::new)
}

fn subject(view: &MachineView, machine: &Machine) -> Subject {
    let labels = machine.metadata.labels.clone().unwrap_or_default();
    Subject {
        key: view.machine.key.clone(),
        uid: view.machine.uid.clone(),
        class: machine.spec.class.name.as_deref().unwrap_or_default().into(),
        deployment: labels.get(names::labels::DEPLOYMENT).cloned(),
        labels,
        provider_id: view.machine.provider_id.clone(),
        created: view.machine.created,
        health_timeout: view.settings.health_timeout,
        must_be_false: view.settings.must_be_false.clone(),
        can_reboot: match &view.driver {
            DriverFact::Ready(facts) => facts.capabilities.reboot,
            DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => false,
        },
    }
}

fn node_question(node: &Node) -> NodeQuestion {
    let meta = &node.metadata;
    let mut facts: Vec<ConditionFact> = conditions(node).iter().map(condition).collect();
    facts.sort();
    NodeQuestion {
        name: meta.name.as_deref().unwrap_or_default().into(),
        created: meta.creation_timestamp.as_ref().map(|time| time.0),
        labels: meta.labels.clone().unwrap_or_default(),
        is_unschedulable: node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false),
        conditions: facts,
    }
}

fn condition(condition: &NodeCondition) -> ConditionFact {
    ConditionFact {
        kind: condition.type_.clone(),
        status: Status::parse(&condition.status),
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
        since: condition.last_transition_time.as_ref().map(|time| time.0),
    }
}

/// When its VM was started anew, by its annotation.
pub(crate) fn reboots(machine: &Machine) -> Reboots {
    let annotations = machine.metadata.annotations.as_ref();
    Reboots::parse(annotations.and_then(|all| all.get(REBOOTS)).map(String::as_str))
}

fn reports_policy(machine: &Machine) -> bool {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    own.is_some_and(|own| {
        let kind = machinist_core::machine::ConditionKind::PolicyObserved.as_str();
        own.conditions.iter().any(|condition| condition.type_ == kind && condition.reason != "NoPolicy")
    })
}

fn asked(policy: &PolicyFact) -> Option<Asked> {
    match &policy.standing {
        Standing::Serving { generation } => {
            Some(Asked { policy: policy.policy.clone(), generation: *generation, mode: policy.mode })
        }
        Standing::NotServing { .. } => None,
    }
}

/// What a policy says that cannot be asked.
fn unknown_opinion(policy: &PolicyFact, now: Timestamp) -> Opinion {
    let reason = match &policy.standing {
        Standing::Serving { .. } => "it is not asked".to_owned(),
        Standing::NotServing { reason } => reason.clone(),
    };
    let holds_until = now.checked_add(ASK_AGAIN).unwrap_or(Timestamp::MAX);
    let unknown = RawAnswer { verdict: Verdict::Unknown, reason, action: Action::None, holds_until };
    let asked = Asked { policy: policy.policy.clone(), generation: 0, mode: policy.mode };
    opinion_of(&asked, Ok(unknown), now)
}
