//! How an LXD is started.

/// Settings of an LXD.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the only cluster member. None: a server alone, which has no targets.
    pub member: Option<String>,
    /// Whether it has the image of Debian, too. The small one is always there.
    pub has_debian: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { member: Some("lab-1".to_owned()), has_debian: false }
    }
}
