/**
 * Marks that tell the host how to authenticate a request. Each is a header: `headers: { ...auth.bearer() }`. The host
 * removes the mark. It signs the request or adds the scheme's header, with the keys of the Secret and where the
 * plugin's grants allow it. The driver never has the credentials, and sets no such header itself.
 */

const PARAMETER = /^[A-Za-z0-9._-]+$/;
const SCOPE = /^[!#-:<-[\]-~]+$/;

/**
 * Signs the request by AWS Signature Version 4.
 * @param {object} parameters
 * @param {string} parameters.service Such as `ec2`.
 * @param {string} parameters.region Such as `eu-west-1`.
 * @returns {Record<string, string>}
 */
export function awsSigV4({ service, region }) {
  for (const [name, value] of Object.entries({ service, region })) {
    if (!PARAMETER.test(value)) throw new RangeError(`${name} must be letters, digits, dots and dashes, got ${JSON.stringify(value)}`);
  }
  return mark(`aws-sigv4; service=${service}; region=${region}`);
}

/**
 * Adds a value of the Secret as a bearer token, or in the header that the grants name.
 * @returns {Record<string, string>}
 */
export function bearer() {
  return mark('bearer');
}

/**
 * Adds name and password of the Secret.
 * @returns {Record<string, string>}
 */
export function basic() {
  return mark('basic');
}

/**
 * Shows the certificate of the Secret in TLS. The request must be over https.
 * @returns {Record<string, string>}
 */
export function clientCertificate() {
  return mark('client-certificate');
}

/**
 * Adds a token that the host fetches for a client, which proves itself by its secret, its certificate, or the token in
 * a file, as the Secret has it.
 * @param {...string} scopes Optional.
 * @returns {Record<string, string>}
 */
export function oauth2ClientCredentials(...scopes) {
  return scoped('oauth2-client-credentials', scopes);
}

/**
 * Adds a token that the host fetches for an assertion that it signs, such as for a service account of Google, or for
 * the token in a file of an external account.
 * @param {...string} scopes Optional.
 * @returns {Record<string, string>}
 */
export function jwtBearer(...scopes) {
  return scoped('jwt-bearer', scopes);
}

/**
 * Adds a token of OpenStack's identity service.
 * @returns {Record<string, string>}
 */
export function keystone() {
  return mark('keystone');
}

/**
 * @param {string} scheme
 * @param {string[]} scopes
 */
function scoped(scheme, scopes) {
  for (const scope of scopes) {
    if (!SCOPE.test(scope)) throw new RangeError(`a scope has neither blanks nor semicolons, got ${JSON.stringify(scope)}`);
  }
  return mark(scopes.length === 0 ? scheme : `${scheme}; scope=${scopes.join(' ')}`);
}

/**
 * @param {string} value
 * @returns {Record<string, string>}
 */
function mark(value) {
  return { 'machinist-auth': value };
}
