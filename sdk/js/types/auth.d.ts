/**
 * Marks that make the host sign a request. A driver never holds a key.
 */
/**
 * The header for AWS Signature Version 4: the host signs the request as it is sent.
 * @param {object} parameters
 * @param {string} parameters.service Such as `ec2`.
 * @param {string} parameters.region Such as `eu-west-1`.
 * @returns {Record<string, string>}
 */
export declare function awsSigV4({ service, region }: {
    service: string;
    region: string;
}): Record<string, string>;
