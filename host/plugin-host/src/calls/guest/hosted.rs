//! The small interfaces of `machinist:host`: log, settings, deadline.

use std::time::Instant;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Engine, Result};

use crate::calls::bindings::driver::machinist::host::{deadline, log as wit, secrets, settings};
use crate::calls::bindings::driver::machinist::provider::types;
use crate::calls::guest::GuestState;
use crate::calls::guest::log::{self, LogLine};
use crate::output_limits::fields_text;
use crate::resources::threads::give_way;

/// Lines that a call writes before it lets others have the processor: a fraction of a millisecond.
const LINES_A_TURN: u64 = 16;

impl GuestState {
    /// Whether anybody reads lines of this level.
    fn keeps(&self, level: wit::Level) -> bool {
        let is_enabled =
            self.recording.levels().map_or_else(|| log::is_enabled(level), |it| it.has(log::name(level)));
        self.log_listener.is_some() || is_enabled
    }
}

impl wit::Host for GuestState {
    fn enabled(&mut self, level: wit::Level) -> Result<bool> {
        Ok(self.keeps(level))
    }

    fn emit(&mut self, level: wit::Level, message: String, fields: Vec<(String, String)>) -> Result<()> {
        let field_bytes: usize = fields.iter().map(|(key, value)| key.len() + value.len()).sum();
        let is_real = self.recording.logged(log::name(level), &message, &fields) && log::is_enabled(level);
        let is_kept = is_real || self.log_listener.is_some();
        if is_kept && self.log.take(message.len() + field_bytes) {
            let fields = fields_text(&fields);
            let (message, fields) = (self.vault.scrub_text(&message), self.vault.scrub_text(&fields));
            log::emit(level, &message, &fields);
            if is_real {
                self.log_source.keep(log::name(level), &message, &fields);
            }
            if let Some(listener) = &self.log_listener {
                listener(&LogLine {
                    plugin: self.log_source.plugin.clone(),
                    level: log::name(level),
                    message: message.into_owned(),
                    fields: fields.into_owned(),
                });
            }
        }
        if self.log.lines().is_multiple_of(LINES_A_TURN) {
            give_way();
        }
        Ok(())
    }
}

impl settings::Host for GuestState {
    fn get(&mut self) -> Result<String> {
        Ok(self.settings.to_string())
    }
}

impl deadline::Host for GuestState {
    fn remaining_ms(&mut self) -> Result<u64> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(self.recording.remaining_ms(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
    }
}

// Nouns without functions.
impl types::Host for GuestState {}

/// The one linker of all drivers.
pub(crate) fn linker(engine: &Engine) -> Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    wit::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    settings::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    deadline::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    secrets::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    types::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    Ok(linker)
}
