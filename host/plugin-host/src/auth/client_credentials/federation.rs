//! The grant of token files: the host shows the token in a file instead of a client's secret.

use serde::Deserialize;
use zeroize::Zeroizing;

use crate::auth::credential::token_file::FilePrefix;
use crate::auth::grant::{folders, folders_beyond, joined, patterns, unless};
use crate::auth::oauth::name_patterns;
use crate::auth::{AuthReason, FileExchange, TokenService};
use crate::target::{Error, NamePattern};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawFederation {
    token_files: Vec<String>,
    clients: Vec<String>,
    token_file_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FederationGrant {
    /// The key of the Secret that has the file's path in the host's container. Its presence asks for federation.
    token_file_key: String,
    /// The folders below which the file may lie; never empty.
    token_files: Vec<FilePrefix>,
    /// The clients that a Secret may name. The token is the host's, so each client that trusts the host would accept
    /// it.
    clients: Vec<NamePattern>,
}

impl FederationGrant {
    pub(super) const TOKEN_FILE_KEY: &str = "workloadIdentityTokenFile";

    pub(super) fn parse(raw: RawFederation, at: &str) -> Result<Self, Error> {
        let token_file_key = raw.token_file_key.unwrap_or_else(|| Self::TOKEN_FILE_KEY.to_owned());
        if token_file_key.is_empty() {
            return Err(Error::invalid(format!("{at}.token-file-key"), "is empty"));
        }
        if raw.clients.is_empty() {
            return Err(Error::invalid(
                format!("{at}.clients"),
                "names no client that the token may stand for",
            ));
        }
        Ok(Self {
            token_file_key,
            token_files: folders(&raw.token_files, &format!("{at}.token-files"))?,
            clients: name_patterns(&raw.clients, &format!("{at}.clients"), "client")?,
        })
    }

    pub(super) fn used_key(&self) -> &String {
        &self.token_file_key
    }

    pub(super) fn beyond(&self, ceiling: &Self) -> Option<String> {
        let has_same_key = self.token_file_key == ceiling.token_file_key;
        folders_beyond(&self.token_files, &ceiling.token_files)
            .or_else(|| patterns("client", &self.clients, &ceiling.clients))
            .or_else(|| unless(has_same_key, || "with another key of the Secret".to_owned()))
    }

    pub(super) fn summary(&self) -> String {
        format!("; token files; clients {}", joined(&self.clients))
    }

    /// Refuses a client that the grants do not name.
    pub(super) fn check(&self, client: &str) -> Result<(), AuthReason> {
        if self.clients.iter().any(|pattern| pattern.matches(client)) {
            Ok(())
        } else {
            Err(AuthReason::Role)
        }
    }

    /// Returns the exchange of the token in a file for the service's own.
    pub(super) fn exchange(
        &self,
        path: String,
        service: Box<dyn FnOnce(Zeroizing<String>) -> Box<dyn TokenService> + Send>,
    ) -> FileExchange {
        FileExchange { key: self.token_file_key.clone(), path, folders: self.token_files.clone(), service }
    }
}
