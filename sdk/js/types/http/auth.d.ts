// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Marks that tell the host how to authenticate a request. Each is a header: `headers: { ...auth.bearer() }`. The host
 * removes the mark. It signs the request or adds the scheme's header, with the keys of the Secret and where the
 * plugin's grants allow it. The driver never has the credentials, and sets no such header itself.
 */
/**
 * Signs the request by AWS Signature Version 4.
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
 * Adds a value of the Secret as a bearer token, or in the header that the grants name.
 * @returns {Record<string, string>}
 */
export declare function bearer(): Record<string, string>;
/**
 * Adds name and password of the Secret.
 * @returns {Record<string, string>}
 */
export declare function basic(): Record<string, string>;
/**
 * Shows the certificate of the Secret in TLS. The request must be over https.
 * @returns {Record<string, string>}
 */
export declare function clientCertificate(): Record<string, string>;
/**
 * Adds a token that the host fetches for a client, which proves itself by its secret, its certificate, or the token in
 * a file, as the Secret has it.
 * @param {...string} scopes Optional.
 * @returns {Record<string, string>}
 */
export declare function oauth2ClientCredentials(...scopes: string[]): Record<string, string>;
/**
 * Adds a token that the host fetches for an assertion that it signs, such as for a service account of Google, or for
 * the token in a file of an external account.
 * @param {...string} scopes Optional.
 * @returns {Record<string, string>}
 */
export declare function jwtBearer(...scopes: string[]): Record<string, string>;
/**
 * Adds a token of OpenStack's identity service.
 * @returns {Record<string, string>}
 */
export declare function keystone(): Record<string, string>;
