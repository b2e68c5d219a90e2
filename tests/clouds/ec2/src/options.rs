//! How an EC2 is started.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::moto::accounts::Credentials;

/// Settings of an EC2.
#[derive(Clone, Debug)]
pub struct Options {
    /// The region of the fixture, and of all that is done by hand. Requests may be for others.
    pub region: String,
    /// The account whose requests are accepted.
    pub credentials: Vec<Credentials>,
    /// Roles that web-identity tokens may assume: accounts by role ARN.
    pub roles: BTreeMap<String, String>,
    /// How far a caller's clock may be off.
    pub clock_tolerance: SignedDuration,
}

impl Default for Options {
    fn default() -> Self {
        let role = "arn:aws:iam::123456789012:role/machines".to_owned();
        Self {
            region: "eu-west-1".to_owned(),
            credentials: vec![Credentials::lasting("default", "AKIATESTS", "tests+secret/access/key")],
            roles: BTreeMap::from([(role, "default".to_owned())]),
            clock_tolerance: SignedDuration::from_mins(5),
        }
    }
}
