//! Marks by which the host knows what to sign, and how.

/// The header that asks the host to sign a request for AWS: `request.header(name, value)`.
///
/// The host takes it off, and signs with the keys of the Secret, where the plugin's grants allow it.
pub fn aws_sigv4(service: &str, region: &str) -> (&'static str, String) {
    ("machinist-auth", format!("aws-sigv4; service={service}; region={region}"))
}
