//! The host, as one call of a test sees it.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::host::MockHost;
use super::substitute::filled;
use super::vault::{Kept, Vault};
use crate::driver::{
    Host, HttpAnswer, HttpRequest, Limits, NoAnswerReason, OfflineHost, Secrets, USER_DATA_KEY, Url,
};
use crate::log::{Level, Log, Sink};

/// The host's limits of a request.
const REQUEST_BYTES: usize = 1024 * 1024;
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
const REQUESTS_PER_CALL: usize = 100;
const LOG_LINES: usize = 1_000;

/// One call, with placeholders of its own.
pub(super) struct MockCall<'a, 'c> {
    world: &'a MockHost<'c>,
    vault: Vault,
    requests: Cell<usize>,
    lines: Cell<usize>,
}

impl<'a, 'c> MockCall<'a, 'c> {
    /// `has_user_data`: in `create` and `initialize` only.
    pub(super) fn online(world: &'a MockHost<'c>, has_user_data: bool) -> Self {
        let mut secrets = world.secrets.clone();
        secrets.retain(|key, _| has_user_data || key != USER_DATA_KEY);
        Self::with(world, secrets)
    }

    /// A call without secrets; the type denies the network.
    pub(super) fn offline(world: &'a MockHost<'c>) -> Self {
        Self::with(world, BTreeMap::new())
    }

    fn with(world: &'a MockHost<'c>, secrets: BTreeMap<String, Kept>) -> Self {
        Self { world, vault: Vault::new(secrets), requests: Cell::new(0), lines: Cell::new(0) }
    }
}

impl OfflineHost for MockCall<'_, '_> {
    fn log(&self) -> Log<'_> {
        Log::new(self)
    }

    fn settings(&self) -> String {
        self.world.settings.clone()
    }

    fn remaining_ms(&self) -> u64 {
        self.world.remaining_ms
    }
}

impl Host for MockCall<'_, '_> {
    fn secrets(&self) -> &dyn Secrets {
        &self.vault
    }

    fn exchange(
        &self,
        request: &HttpRequest,
        url: &Url,
        limits: Limits,
    ) -> Result<HttpAnswer, NoAnswerReason> {
        self.world.sent.borrow_mut().push(request.clone());
        self.requests.set(self.requests.get() + 1);
        if self.requests.get() > REQUESTS_PER_CALL {
            return Err(NoAnswerReason::Denied);
        }
        if request.body.as_ref().is_some_and(|body| body.len() > REQUEST_BYTES) {
            return Err(NoAnswerReason::RequestTooLarge);
        }
        let filled = filled(request, url, &self.vault).map_err(|_| NoAnswerReason::Denied)?;
        let answer = self.world.answer(filled)?;
        if answer.body.len() > limits.answer_bytes.min(ANSWER_BYTES) {
            return Err(NoAnswerReason::AnswerTooLarge);
        }
        let scrubbed = |(name, value): (String, String)| (name, self.vault.scrub_text(&value));
        Ok(HttpAnswer {
            status: answer.status,
            headers: answer.headers.into_iter().map(scrubbed).collect(),
            body: self.vault.scrub(&answer.body),
        })
    }
}

impl Sink for MockCall<'_, '_> {
    fn enabled(&self, _: Level) -> bool {
        true
    }

    fn emit(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        self.lines.set(self.lines.get() + 1);
        if self.lines.get() > LOG_LINES {
            return;
        }
        let fields: Vec<(&str, String)> =
            fields.iter().map(|(name, value)| (*name, self.vault.scrub_text(value))).collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.world.log.emit(level, &self.vault.scrub_text(message), &fields);
    }
}
