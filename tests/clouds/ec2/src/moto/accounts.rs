//! Callers: keys of accounts, and the sessions that STS issues.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// Keys that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The account they belong to; fault rules can name it.
    pub account: String,
    /// The access key id.
    pub access_key_id: String,
    /// The secret access key.
    pub secret_access_key: String,
    /// A session has one; requests must carry it.
    pub session_token: Option<String>,
    /// A session ends then.
    pub expires: Option<Timestamp>,
}

impl Credentials {
    pub fn lasting(account: &str, access_key_id: &str, secret_access_key: &str) -> Self {
        Self {
            account: account.to_owned(),
            access_key_id: access_key_id.to_owned(),
            secret_access_key: secret_access_key.to_owned(),
            session_token: None,
            expires: None,
        }
    }
}

/// A web-identity token that STS knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityToken {
    /// It is exchanged for a session.
    Valid,
    Expired,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    keys: BTreeMap<String, Credentials>,
    /// Accounts by the ARNs of their roles.
    pub(crate) roles: BTreeMap<String, String>,
    pub(crate) identity_tokens: BTreeMap<String, IdentityToken>,
    /// Instead of the time that is asked for.
    pub(crate) session_lifetime: Option<SignedDuration>,
    sessions: u64,
}

impl Accounts {
    pub(crate) fn put(&mut self, credentials: Credentials) {
        self.keys.insert(credentials.access_key_id.clone(), credentials);
    }

    pub(crate) fn revoke(&mut self, access_key_id: &str) {
        self.keys.remove(access_key_id);
    }

    pub(crate) fn find(&self, access_key_id: &str) -> Option<&Credentials> {
        self.keys.get(access_key_id)
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Credentials> {
        self.keys.values().filter(|credentials| credentials.session_token.is_some())
    }

    /// All sessions end before this time.
    pub(crate) fn expire_sessions(&mut self, now: Timestamp) {
        for credentials in self.keys.values_mut().filter(|credentials| credentials.session_token.is_some()) {
            credentials.expires = Some(now);
        }
    }

    /// Makes a session of this account.
    pub(crate) fn issue(&mut self, account: &str, expires: Timestamp, random: [u64; 3]) -> Credentials {
        self.sessions += 1;
        let [first, second, third] = random;
        let session = Credentials {
            account: account.to_owned(),
            access_key_id: format!("ASIA{:016X}", first.wrapping_add(self.sessions)),
            secret_access_key: format!("{second:016x}{third:016x}+/session"),
            session_token: Some(format!("session/{}/{third:016x}{first:016x}==", self.sessions)),
            expires: Some(expires),
        };
        self.put(session.clone());
        session
    }
}
