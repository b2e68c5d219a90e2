//! The callers, and their permissions.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::{AccountConfig, Config, Role};
use crate::route::Operation;
use crate::wire::error::{ApiError, Code};

/// The caller of a request.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Admin,
    /// A token of an account.
    Account {
        name: Arc<str>,
    },
    /// No token, where none is needed.
    Nobody,
}

impl Caller {
    /// The account, for what only accounts have.
    pub(crate) fn account(&self) -> Result<&Arc<str>, ApiError> {
        match self {
            Self::Account { name } => Ok(name),
            Self::Admin | Self::Nobody => Err(forbidden("this needs the token of an account")),
        }
    }

    /// Whether objects of this account exist for the caller.
    pub(crate) fn sees(&self, account: &Arc<str>) -> bool {
        match self {
            Self::Admin => true,
            Self::Account { name } => name == account,
            Self::Nobody => false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Directory {
    admin_token: String,
    tokens: HashMap<String, (Arc<str>, Role)>,
    quotas: HashMap<Arc<str>, Option<usize>>,
}

impl Directory {
    pub(crate) fn new(config: &Config) -> Self {
        let mut directory =
            Self { admin_token: config.admin_token.clone(), tokens: HashMap::new(), quotas: HashMap::new() };
        for account in &config.accounts {
            directory.put(&account.name, account);
        }
        directory
    }

    /// Adds an account or replaces its tokens and quota.
    pub(crate) fn put(&mut self, name: &str, account: &AccountConfig) {
        let name: Arc<str> = name.into();
        self.tokens.retain(|_, (owner, _)| *owner != name);
        for token in &account.tokens {
            self.tokens.insert(token.token.clone(), (Arc::clone(&name), token.role));
        }
        self.quotas.insert(name, account.quota);
    }

    pub(crate) fn quota(&self, account: &Arc<str>) -> Option<usize> {
        self.quotas.get(account).copied().flatten()
    }

    /// The caller behind the token, if the operation is open to it.
    pub(crate) fn admit(&self, token: Option<&str>, operation: &Operation<'_>) -> Result<Caller, ApiError> {
        if *operation == Operation::Stats {
            return Ok(Caller::Nobody);
        }
        let token = token.ok_or_else(|| ApiError::new(Code::Unauthorized, "a bearer token is needed"))?;
        if token == self.admin_token {
            return match operation {
                Operation::Admin(_)
                | Operation::UserData(_)
                | Operation::Regions
                | Operation::GetVm(_)
                | Operation::GetVolume(_)
                | Operation::Console(_) => Ok(Caller::Admin),
                _ => Err(forbidden("this needs the token of an account")),
            };
        }
        let (name, role) = self
            .tokens
            .get(token)
            .ok_or_else(|| ApiError::new(Code::Unauthorized, "the bearer token is not valid"))?;
        match operation {
            Operation::Admin(_) | Operation::UserData(_) => Err(forbidden("this needs the admin token")),
            _ if *role == Role::ReadOnly && !operation.is_read() => Err(forbidden("the token may only read")),
            _ => Ok(Caller::Account { name: Arc::clone(name) }),
        }
    }
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(Code::Forbidden, message)
}
