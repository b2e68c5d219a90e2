//! Client assertions that a certificate signs: RS256, with the certificate's digest in `x5t` or `x5t#S256`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::options::Client;

/// Microsoft's code and text.
type Refusal = (&'static str, &'static str);

/// Clocks may differ by so much.
const SKEW_S: u64 = 300;

/// Judges an assertion that names a certificate; `None` for others.
pub(crate) fn judged(
    client: &Client,
    assertion: &str,
    audience: &str,
    now_ms: u64,
) -> Option<Result<(), Refusal>> {
    let parts: Vec<&str> = assertion.split('.').collect();
    let header = parts.first().and_then(|part| json_of(part))?;
    let thumbprints = [("x5t", &SHA1_FOR_LEGACY_USE_ONLY), ("x5t#S256", &SHA256)];
    let (named, algorithm) =
        thumbprints.iter().find_map(|(name, algorithm)| Some((header[*name].as_str()?, *algorithm)))?;
    let is_it = |certificate: &&Vec<u8>| URL_SAFE_NO_PAD.encode(digest(algorithm, certificate)) == named;
    let Some(certificate) = client.certificates.iter().find(is_it) else {
        return Some(Err((
            "AADSTS700027",
            "The certificate with identifier used to sign the client assertion is not registered on application.",
        )));
    };
    if header["alg"] != "RS256" || header["typ"] != "JWT" {
        return Some(Err(("AADSTS5002730", "Invalid JWT token. Unsupported algorithm.")));
    }
    let signed = assertion.rsplit_once('.').map(|(signed, _)| signed).unwrap_or_default();
    let signature = parts.get(2).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok()).unwrap_or_default();
    let key =
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public_key(certificate).unwrap_or_default());
    if parts.len() != 3 || key.verify(signed.as_bytes(), &signature).is_err() {
        return Some(Err(("AADSTS700027", "Client assertion contains an invalid signature.")));
    }
    let claims = parts.get(1).and_then(|part| json_of(part)).unwrap_or_default();
    Some(fits(&claims, client, audience, now_ms / 1_000))
}

fn fits(claims: &Value, client: &Client, audience: &str, now_s: u64) -> Result<(), Refusal> {
    let is_audience =
        claims["aud"].as_str().is_some_and(|text| text.strip_prefix("https://") == Some(audience));
    if claims["iss"] != json!(client.id) || claims["sub"] != json!(client.id) || !is_audience {
        return Err(("AADSTS700023", "Client assertion audience, issuer or subject claim does not match."));
    }
    let (from, until) = (claims["nbf"].as_u64().unwrap_or(0), claims["exp"].as_u64().unwrap_or(0));
    if until <= now_s || from > now_s + SKEW_S || claims["jti"].as_str().is_none() {
        return Err(("AADSTS700024", "Client assertion is not within its valid time range."));
    }
    Ok(())
}

fn json_of(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// The RSA key of a certificate: a sequence of modulus and exponent, which is the content of its public key.
fn public_key(certificate: &[u8]) -> Option<Vec<u8>> {
    // rsaEncryption, and no parameters.
    const RSA: [u8; 15] =
        [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    let at = certificate.windows(RSA.len()).position(|window| window == RSA)? + RSA.len();
    // A bit string: 03 82, two bytes of length, 00, then the key.
    let [0x03, 0x82, high, low, 0x00, ..] = *certificate.get(at..)? else { return None };
    let length = usize::from(u16::from_be_bytes([high, low])).checked_sub(1)?;
    certificate.get(at + 5..at + 5 + length).map(<[u8]>::to_vec)
}
