// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Marks by which the host knows how to authenticate a request. Each is a header: `headers: { ...auth.bearer() }`. The host takes it
 * off, and signs the request or adds what the scheme needs, from the keys of the Secret and where the plugin's grants allow it. A
 * driver has none of it, and brings no such header itself.
 */
/**
 * Signed by AWS Signature Version 4, as the request is sent.
 * @param {object} parameters
 * @param {string} parameters.service Such as `ec2`.
 * @param {string} parameters.region Such as `eu-west-1`.
 * @returns {Record<string, string>}
 */
export declare function awsSigV4({ service, region }: {
    service: string;
    region: string;
}): Record<string, string>;
/**
 * With a value of the Secret as a bearer token, or in the header that the grants name.
 * @returns {Record<string, string>}
 */
export declare function bearer(): Record<string, string>;
/**
 * With name and password.
 * @returns {Record<string, string>}
 */
export declare function basic(): Record<string, string>;
/**
 * With a token that the host gets for the client's name and secret.
 * @param {...string} scopes May be absent.
 * @returns {Record<string, string>}
 */
export declare function oauth2ClientCredentials(...scopes: string[]): Record<string, string>;
/**
 * With a token that the host gets for an assertion that it signs, such as for a service account of Google.
 * @param {...string} scopes May be absent.
 * @returns {Record<string, string>}
 */
export declare function jwtBearer(...scopes: string[]): Record<string, string>;
/**
 * With a token of OpenStack's identity service.
 * @returns {Record<string, string>}
 */
export declare function keystone(): Record<string, string>;
