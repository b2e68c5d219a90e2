//! Authenticates requests of drivers that never see a key.
//!
//! A driver marks a request (`machinist-auth: aws-sigv4; service=ec2; region=eu-west-1`). The grants say which marks
//! the host accepts, and which keys of the Secret it uses. Keys and tokens come from the Secret or from a token
//! service. A signature covers exactly the bytes that are sent.
//!
//! Each scheme has a module, and the table in `scheme` lists them. A scheme knows its fields in the grants, its mark,
//! its headers, the keys of the Secret that it uses, its token service, and the bounds that a ceiling sets. Nothing
//! here waits or sends: [`crate::egress`] asks token services and keeps their answers.
//!
//! | module | has |
//! | --- | --- |
//! | `scheme` | the trait of a scheme, and the table of all schemes |
//! | `bearer`, `basic` | a value, or name and password, of the Secret in a header |
//! | [`sigv4`] | AWS Signature Version 4 |
//! | `client_certificate` | a certificate in TLS |
//! | `client_credentials` | tokens for a client's id, and its secret, certificate or token |
//! | `jwt_bearer` | tokens for an assertion that the host signs, or for a token in a file |
//! | `keystone` | tokens of OpenStack's identity service |
//! | `oauth` | the parts that schemes with OAuth 2.0 share |
//! | `jwt` | signs assertions |
//! | `tls` | certificates of a Secret, for the host and of servers |
//! | `grant` | a line of `auth` in the grants, and fields that several schemes have |
//! | `mark` | the header by which a driver asks to be authenticated, and the reasons why it is not |
//! | `credential` | keys and headers, their end, and where they come from |
//!
//! **Invariant:** keys, tokens and signatures are in no log, and are scrubbed from everything that a component gets.
//!
//! **Invariant:** the host uses no ambient credentials: no environment variable, no metadata service, and no file that
//! the grants do not name.

mod basic;
mod bearer;
mod client_certificate;
mod client_credentials;
mod credential;
mod grant;
mod jwt;
mod jwt_bearer;
mod keystone;
mod mark;
mod oauth;
mod scheme;
pub mod sigv4;
mod tls;

pub(crate) use grant::AuthGrant;
pub(crate) use mark::AuthReason;

pub(crate) use credential::Lease;
pub(crate) use credential::SecretReader;
pub(crate) use credential::source::{
    CredentialSource, FileExchange, SchemeError, ServiceAnswer, ServiceRequest, TokenService, service_url,
};
pub(crate) use credential::token_file;
pub(crate) use credential::{Credential, Holder, Unauthenticated, digest};
pub(crate) use keystone::subject_token;
pub(crate) use mark::MARK;
pub(crate) use oauth::access_token;
pub(crate) use scheme::Mark;
pub(crate) use sigv4::session_keys;
pub(crate) use tls::SecretTls;
