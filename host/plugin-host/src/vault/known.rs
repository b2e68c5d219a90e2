//! Values to hide beyond one call. Answers may show a call the values of another call: user data of another Machine, a
//! token that is still valid. So each call of a plugin searches for all values that its calls have known, and for the
//! bootstrap tokens of all Machines.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};
use machinist_core::value::id::PluginName;
use zeroize::Zeroizing;

use super::forms::{ValueKind, needles};
use super::index::{NeedleIndex, ValueId};
use super::scrub::SecretSource;

/// The time on the wall, for signatures, for the end of keys, and for the clocks of drivers.
pub(crate) type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A value of a Secret, user data, a bootstrap token: so long after the last call that had it.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);
/// The clouds take no signature that is older.
const SIGNATURE_KEPT_FOR: SignedDuration = SignedDuration::from_mins(15);
/// A value that is used all the time is not written down each time.
const SLACK: SignedDuration = SignedDuration::from_mins(5);
/// Values of one memory. Ten thousand Machines an hour.
const MOST_VALUES: usize = 10_000;
/// Characters of all needles of one memory; user data of 16 KiB takes 600,000.
const MOST_CHARACTERS: usize = 32 * 1024 * 1024;
/// Signatures of one plugin; one that sends more forgets the oldest.
const MOST_SIGNATURES: usize = 2_000;

/// All that is known in this process. A clone is the same.
#[derive(Clone)]
pub(crate) struct KnownValues(Arc<KnownState>);

struct KnownState {
    clock: WallClock,
    bootstrap_tokens: Arc<RememberedValues>,
    plugins: Mutex<HashMap<PluginName, KnownTo>>,
}

/// Values that calls of one plugin look for.
#[derive(Clone)]
pub(crate) struct KnownTo {
    clock: WallClock,
    values: Arc<RememberedValues>,
    signatures: Arc<RememberedValues>,
    bootstrap_tokens: Arc<RememberedValues>,
}

impl KnownValues {
    pub(crate) fn new(clock: WallClock) -> Self {
        let bootstrap_tokens = Arc::new(RememberedValues::new(MOST_VALUES));
        Self(Arc::new(KnownState { clock, bootstrap_tokens, plugins: Mutex::default() }))
    }

    pub(crate) fn to(&self, plugin: &PluginName) -> KnownTo {
        let mut plugins = self.0.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plugins.get(plugin) {
            return known.clone();
        }
        let known = KnownTo::new(Arc::clone(&self.0.clock), Arc::clone(&self.0.bootstrap_tokens));
        plugins.insert(plugin.clone(), known.clone());
        known
    }
}

impl KnownTo {
    fn new(clock: WallClock, bootstrap_tokens: Arc<RememberedValues>) -> Self {
        Self {
            clock,
            values: Arc::new(RememberedValues::new(MOST_VALUES)),
            signatures: Arc::new(RememberedValues::new(MOST_SIGNATURES)),
            bootstrap_tokens,
        }
    }

    /// For a call that shares nothing with others.
    pub(crate) fn alone() -> Self {
        Self::new(Arc::new(Timestamp::now), Arc::new(RememberedValues::new(MOST_VALUES)))
    }

    pub(super) fn memories(&self) -> [Arc<RememberedValues>; 3] {
        [&self.values, &self.signatures, &self.bootstrap_tokens].map(Arc::clone)
    }

    /// The source of a credential that is kept.
    pub(super) fn source(&self, value: &[u8]) -> Option<Arc<SecretSource>> {
        self.values.source(ValueKind::Credential, value)
    }

    pub(super) fn credential(&self, value: &[u8], ends: Option<Timestamp>) {
        let now = (self.clock)();
        let until = later(now, KEPT_FOR);
        self.values.keep(ValueKind::Credential, value, ends.map_or(until, |ends| ends.max(until)), now);
    }

    pub(super) fn text(&self, text: &[u8]) {
        let now = (self.clock)();
        self.values.keep(ValueKind::Text, text, later(now, KEPT_FOR), now);
    }

    pub(super) fn bootstrap_token(&self, token: &[u8]) {
        let now = (self.clock)();
        self.bootstrap_tokens.keep(ValueKind::BootstrapToken, token, later(now, KEPT_FOR), now);
    }

    pub(super) fn signature(&self, digits: &[u8]) {
        let now = (self.clock)();
        self.signatures.keep(ValueKind::Signature, digits, later(now, SIGNATURE_KEPT_FOR), now);
    }
}

fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// The same value has the same id in each memory of this process.
pub(super) fn id(value: &[u8]) -> ValueId {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(value)
}

/// Values, each until its time, and the index over them.
pub(super) struct RememberedValues {
    most_values: usize,
    state: RwLock<ValuesState>,
}

#[derive(Default)]
struct ValuesState {
    values: HashMap<(ValueKind, ValueId), Value>,
    index: NeedleIndex,
    swept: Option<Timestamp>,
}

struct Value {
    bytes: Zeroizing<Vec<u8>>,
    until: Timestamp,
    /// Its spellings, for the calls that have it.
    source: OnceLock<Arc<SecretSource>>,
}

impl RememberedValues {
    fn new(most_values: usize) -> Self {
        Self { most_values, state: RwLock::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read().index.is_empty()
    }

    /// Adds the places of pieces of its values, except of these. Returns how many characters are needed to recognise a
    /// value.
    pub(super) fn find(&self, view: &[u8], but: &BTreeSet<ValueId>, found: &mut Vec<Range<usize>>) -> usize {
        let state = self.read();
        state.index.find(view, but, found);
        state.index.longest()
    }

    fn source(&self, kind: ValueKind, bytes: &[u8]) -> Option<Arc<SecretSource>> {
        let state = self.read();
        let value = state.values.get(&(kind, id(bytes))).filter(|value| value.bytes.as_slice() == bytes)?;
        Some(Arc::clone(value.source.get_or_init(|| Arc::new(SecretSource::value(bytes)))))
    }

    fn keep(&self, kind: ValueKind, bytes: &[u8], until: Timestamp, now: Timestamp) {
        let key = (kind, id(bytes));
        let is_kept = |value: &Value| later(value.until, SLACK) >= until && value.bytes.as_slice() == bytes;
        if self.read().values.get(&key).is_some_and(is_kept) {
            return;
        }
        // Made before others have to wait.
        let made = needles(kind, bytes);
        let mut state = self.write();
        if let Some(value) = state.values.get_mut(&key) {
            value.until = value.until.max(until);
            return;
        }
        let is_full = state.values.len() >= self.most_values || state.index.characters() >= MOST_CHARACTERS;
        let swept = *state.swept.get_or_insert(now);
        if is_full || later(swept, KEPT_FOR) <= now {
            state.sweep(now, self.most_values);
        }
        state
            .values
            .insert(key, Value { bytes: Zeroizing::new(bytes.to_vec()), until, source: OnceLock::new() });
        for needle in made {
            state.index.add(key.1, needle);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, ValuesState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ValuesState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ValuesState {
    /// Forgets what is over, and of the rest what ends first until a quarter is free.
    fn sweep(&mut self, now: Timestamp, most_values: usize) {
        let mut values: Vec<_> = self.values.drain().filter(|(_, value)| value.until > now).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.until));
        self.index = NeedleIndex::default();
        self.swept = Some(now);
        for (key, value) in values.into_iter().take(most_values - most_values / 4) {
            if self.index.characters() >= MOST_CHARACTERS - MOST_CHARACTERS / 4 {
                break;
            }
            for needle in needles(key.0, &value.bytes) {
                self.index.add(key.1, needle);
            }
            self.values.insert(key, value);
        }
    }
}
