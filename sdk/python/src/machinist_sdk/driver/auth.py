"""Marks by which the host knows how to authenticate a request: each is a header, `headers={**auth.bearer(), ...}`.

The host takes it off, and signs the request or adds what the scheme needs, from the keys of the Secret and where the plugin's grants
allow it. The driver has none of it, and brings no such header itself.
"""


def _mark(scheme: str, **parameters: str) -> dict[str, str]:
    return {"machinist-auth": "; ".join([scheme, *(f"{name}={value}" for name, value in parameters.items())])}


def _scoped(scheme: str, scopes: tuple[str, ...]) -> dict[str, str]:
    return _mark(scheme, scope=" ".join(scopes)) if scopes else _mark(scheme)


def aws_sigv4(service: str, region: str) -> dict[str, str]:
    """Signed by AWS Signature Version 4."""
    return _mark("aws-sigv4", service=service, region=region)


def bearer() -> dict[str, str]:
    """With a value of the Secret as a bearer token, or in the header that the grants name."""
    return _mark("bearer")


def basic() -> dict[str, str]:
    """With name and password."""
    return _mark("basic")


def oauth2_client_credentials(*scopes: str) -> dict[str, str]:
    """With a token that the host gets for the client's name and secret. Scopes may be absent."""
    return _scoped("oauth2-client-credentials", scopes)


def jwt_bearer(*scopes: str) -> dict[str, str]:
    """With a token that the host gets for an assertion that it signs, such as for a service account of Google."""
    return _scoped("jwt-bearer", scopes)


def keystone() -> dict[str, str]:
    """With a token of OpenStack's identity service."""
    return _mark("keystone")
