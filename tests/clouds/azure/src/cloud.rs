//! Azure, as a value: its resources, operations, tokens and counts.

use std::collections::BTreeMap;

use crate::faults::Faults;
use crate::options::Options;
use crate::state::{Key, Kind, Operation, Resource, State, Tokens, UID_TAG, id};

/// Azure, as a value: requests and the time go in, answers come out.
pub struct Cloud {
    pub options: Options,
    pub faults: Faults,
    pub(crate) resources: BTreeMap<Key, Resource>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) tokens: Tokens,
    /// The resources before each change, for Resource Graph.
    pub(crate) past: Vec<(u64, BTreeMap<Key, Resource>)>,
    /// Numbers of requests, by method and kind of path.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Accepted creations of VMs, by name: more than one at a time would be a second VM.
    pub(crate) vms_created: u64,
    /// VMs that were created and did not fail, by the uid of their Machine.
    pub(crate) created: BTreeMap<String, u64>,
    /// The most VMs that lived at one time, by uid.
    pub(crate) most_at_once: BTreeMap<String, usize>,
    /// The minute of the last request, and the requests in it.
    pub(crate) window: (u64, u32),
    counter: u64,
}

impl Cloud {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            faults: Faults::default(),
            resources: BTreeMap::new(),
            operations: Vec::new(),
            tokens: Tokens::default(),
            past: Vec::new(),
            counts: BTreeMap::new(),
            vms_created: 0,
            created: BTreeMap::new(),
            most_at_once: BTreeMap::new(),
            window: (0, 0),
            counter: 0,
        }
    }

    /// All resources that exist, also those that are being deleted.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }

    /// The VMs that exist, with those that are being deleted.
    pub fn vms(&self) -> Vec<&Resource> {
        self.resources().filter(|resource| resource.kind == Kind::Vm).collect()
    }

    /// How many VMs were created so far.
    pub fn vms_created(&self) -> u64 {
        self.vms_created
    }

    /// Numbers of requests, by method and kind.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    pub fn forget_counts(&mut self) {
        self.counts.clear();
    }

    /// Changes a resource behind Azure's back.
    pub fn change(&mut self, kind: Kind, group: &str, name: &str, change: impl FnOnce(&mut Resource)) {
        if let Some(resource) = self.resources.get_mut(&Key::new(kind, group, name)) {
            change(resource);
        }
    }

    /// Ends a token before its time, as a revocation does.
    pub fn expire_tokens(&mut self) {
        self.tokens.expire();
    }

    /// A name that was never used before.
    pub(crate) fn next(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}-{:08}", self.counter)
    }

    /// Keeps the state before a change for Resource Graph.
    pub(crate) fn remember(&mut self, now_ms: u64) {
        if self.options.graph_lag_ms > 0 {
            self.past.push((now_ms, self.resources.clone()));
            let oldest = now_ms.saturating_sub(self.options.graph_lag_ms * 2);
            self.past.retain(|(at, _)| *at >= oldest);
        }
    }

    /// The resources that Resource Graph shows.
    pub(crate) fn graph(&self, now_ms: u64) -> &BTreeMap<Key, Resource> {
        let horizon = now_ms.saturating_sub(self.options.graph_lag_ms);
        let before = self.past.iter().find(|(changed_ms, _)| *changed_ms > horizon);
        before.map_or(&self.resources, |(_, resources)| resources)
    }

    pub(crate) fn id_of(&self, key: &Key) -> String {
        match self.resources.get(key) {
            Some(resource) => resource.id(&self.options.subscription),
            None => id(&self.options.subscription, &key.group, key.kind, &key.name),
        }
    }

    /// Counts a VM that was created now, and that will not fail.
    pub(crate) fn count_created(&mut self, key: &Key) {
        let Some(uid) = self.resources.get(key).map(|vm| vm.tag(UID_TAG).unwrap_or_default().to_owned())
        else {
            return;
        };
        let is_it = |resource: &&Resource| {
            resource.kind == Kind::Vm
                && resource.state != State::Deleting
                && resource.tag(UID_TAG) == Some(uid.as_str())
        };
        let now = self.resources.values().filter(is_it).count();
        *self.created.entry(uid.clone()).or_default() += 1;
        let most = self.most_at_once.entry(uid).or_default();
        *most = now.max(*most);
    }

    /// Removes a resource at once.
    pub(crate) fn remove(&mut self, key: &Key) {
        self.resources.remove(key);
    }

    pub(crate) fn set_state(&mut self, key: &Key, state: State) {
        if let Some(resource) = self.resources.get_mut(key) {
            resource.state = state;
        }
    }
}
