/**
 * Marks that make the host sign a request. A driver never holds a key.
 */

const PARAMETER = /^[A-Za-z0-9._-]+$/;

/**
 * The header for AWS Signature Version 4: the host signs the request as it is sent.
 * @param {object} parameters
 * @param {string} parameters.service Such as `ec2`.
 * @param {string} parameters.region Such as `eu-west-1`.
 * @returns {Record<string, string>}
 */
export function awsSigV4({ service, region }) {
  for (const [name, value] of Object.entries({ service, region })) {
    if (!PARAMETER.test(value)) throw new RangeError(`${name} must be letters, digits, dots and dashes, got ${JSON.stringify(value)}`);
  }
  return { 'machinist-auth': `aws-sigv4; service=${service}; region=${region}` };
}
