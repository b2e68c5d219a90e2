//! The host of a component, over the imports of its world.

use super::http;
use crate::bindings::provider::machinist::host::{deadline, secrets as contract, settings};
use crate::driver::{
    Encoding, Handle, Host, HttpAnswer, HttpRequest, Limits, NoAnswerReason, OfflineHost, Secret,
    SecretRefusal, Secrets, USER_DATA_KEY, Url,
};
use crate::log::{HostLog, Log};

/// The host of the running call. It has no state: the host itself knows which call runs.
pub(super) struct ComponentHost;

impl OfflineHost for ComponentHost {
    fn log(&self) -> Log<'_> {
        Log::new(&HostLog)
    }

    fn settings(&self) -> String {
        settings::get()
    }

    fn remaining_ms(&self) -> u64 {
        deadline::remaining_ms()
    }
}

impl Host for ComponentHost {
    fn secrets(&self) -> &dyn Secrets {
        &ComponentSecrets
    }

    fn exchange(
        &self,
        request: &HttpRequest,
        url: &Url,
        limits: Limits,
    ) -> Result<HttpAnswer, NoAnswerReason> {
        http::exchange(request, url, limits)
    }
}

struct ComponentSecrets;

impl Secrets for ComponentSecrets {
    fn keys(&self) -> Vec<String> {
        contract::keys()
    }

    fn open(&self, key: &str) -> Option<Secret> {
        contract::open(key).map(|secret| Secret::new(key, secret))
    }

    fn user_data(&self) -> Option<Secret> {
        contract::user_data().map(|secret| Secret::new(USER_DATA_KEY, secret))
    }
}

impl Handle for contract::Secret {
    fn length(&self) -> u64 {
        Self::length(self)
    }

    fn starts_with(&self, prefix: &[u8]) -> bool {
        Self::starts_with(self, prefix)
    }

    fn placeholder(&self, encodings: &[Encoding]) -> Result<String, SecretRefusal> {
        Self::placeholder(self, encodings)
    }

    fn reveal(&self) -> Result<Vec<u8>, SecretRefusal> {
        Self::reveal(self)
    }
}
