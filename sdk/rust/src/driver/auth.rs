//! Marks that tell the host how to authenticate a request. Each is a header: `request.header(name, value)`.
//!
//! The host removes the mark. It signs the request or adds the scheme's header, with the keys of the Secret and where
//! the plugin's grants allow it. The driver never has the credentials, and sets no such header itself.

/// Name and value of a header.
pub type Mark = (&'static str, String);

fn mark(scheme: &str, parameters: &[(&str, &str)]) -> Mark {
    let parameters: String = parameters.iter().map(|(name, value)| format!("; {name}={value}")).collect();
    ("machinist-auth", format!("{scheme}{parameters}"))
}

fn scoped(scheme: &str, scopes: &[&str]) -> Mark {
    if scopes.is_empty() { mark(scheme, &[]) } else { mark(scheme, &[("scope", &scopes.join(" "))]) }
}

/// Signs the request by AWS Signature Version 4.
pub fn aws_sigv4(service: &str, region: &str) -> Mark {
    mark("aws-sigv4", &[("service", service), ("region", region)])
}

/// Adds a value of the Secret as a bearer token, or in the header that the grants name.
pub fn bearer() -> Mark {
    mark("bearer", &[])
}

/// Adds name and password of the Secret.
pub fn basic() -> Mark {
    mark("basic", &[])
}

/// Shows the certificate of the Secret in TLS. The request must be over https.
pub fn client_certificate() -> Mark {
    mark("client-certificate", &[])
}

/// Adds a token that the host fetches for a client, which proves itself by its secret, its certificate, or the token in
/// a file, as the Secret has it. Scopes are optional.
pub fn oauth2_client_credentials(scopes: &[&str]) -> Mark {
    scoped("oauth2-client-credentials", scopes)
}

/// Adds a token that the host fetches for an assertion that it signs, such as for a service account of Google, or for
/// the token in a file of an external account. Scopes are optional.
pub fn jwt_bearer(scopes: &[&str]) -> Mark {
    scoped("jwt-bearer", scopes)
}

/// Adds a token of OpenStack's identity service.
pub fn keystone() -> Mark {
    mark("keystone", &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_as_the_host_reads_them() {
        for (mark, expected) in [
            (aws_sigv4("ec2", "eu-west-1"), "aws-sigv4; service=ec2; region=eu-west-1"),
            (bearer(), "bearer"),
            (basic(), "basic"),
            (client_certificate(), "client-certificate"),
            (oauth2_client_credentials(&[]), "oauth2-client-credentials"),
            (
                oauth2_client_credentials(&["a/.default", "b"]),
                "oauth2-client-credentials; scope=a/.default b",
            ),
            (jwt_bearer(&["compute"]), "jwt-bearer; scope=compute"),
            (keystone(), "keystone"),
        ] {
            assert_eq!(mark, ("machinist-auth", expected.to_owned()));
        }
    }
}
