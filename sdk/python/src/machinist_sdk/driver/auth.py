"""Marks that tell the host how to authenticate a request. Each is a header: `headers={**auth.bearer(), ...}`.

The host removes the mark. It signs the request or adds the scheme's header, with the keys of the Secret and where the
plugin's grants allow it. The driver never has the credentials, and sets no such header itself.
"""


def _mark(scheme: str, **parameters: str) -> dict[str, str]:
    return {"machinist-auth": "; ".join([scheme, *(f"{name}={value}" for name, value in parameters.items())])}


def _scoped(scheme: str, scopes: tuple[str, ...]) -> dict[str, str]:
    return _mark(scheme, scope=" ".join(scopes)) if scopes else _mark(scheme)


def aws_sigv4(service: str, region: str) -> dict[str, str]:
    """Signs the request by AWS Signature Version 4."""
    return _mark("aws-sigv4", service=service, region=region)


def bearer() -> dict[str, str]:
    """Adds a value of the Secret as a bearer token, or in the header that the grants name."""
    return _mark("bearer")


def basic() -> dict[str, str]:
    """Adds name and password of the Secret."""
    return _mark("basic")


def client_certificate() -> dict[str, str]:
    """Shows the certificate of the Secret in TLS. The request must be over https."""
    return _mark("client-certificate")


def oauth2_client_credentials(*scopes: str) -> dict[str, str]:
    """Adds a token that the host fetches for a client. Scopes are optional.

    The client proves itself by its secret, its certificate, or the token in a file, as the Secret has it.
    """
    return _scoped("oauth2-client-credentials", scopes)


def jwt_bearer(*scopes: str) -> dict[str, str]:
    """Adds a token that the host fetches for an assertion that it signs, such as for a service account of Google.

    If the Secret has an external account, the host shows the token in its file instead.
    """
    return _scoped("jwt-bearer", scopes)


def keystone() -> dict[str, str]:
    """Adds a token of OpenStack's identity service."""
    return _mark("keystone")
