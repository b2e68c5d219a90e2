/**
 * An operator's grants, as far as a driver's unit tests need them: the content of `grants.yaml` as an object. Without
 * grants everything is granted, but never a placeholder in a URL, a header's name or a key.
 */

/**
 * @typedef {{ header: string, prefix?: string } | { json: string, prefix?: string } | { form: string, prefix?: string }} Place
 * @typedef {object} SecretGrant
 * @property {string} key
 * @property {Place[]} places
 * @property {string[]} [hosts]
 * @typedef {object} EgressRule
 * @property {string} host
 * @property {'http' | 'https'} [scheme]
 * @property {number[]} [ports]
 * @property {string[]} [methods]
 * @property {string[]} [paths] Prefixes of paths.
 * @typedef {object} GrantsText
 * @property {EgressRule[]} [egress]
 * @property {SecretGrant[]} [secrets]
 * @property {string[]} [reveal] Keys for which the operator granted `reveal`.
 */

/** @import { WireRequest } from '../contract.js' */

const PORTS = { http: 80, https: 443 };

export class Grants {
  #egress;
  #secrets;

  /** @param {GrantsText} [grants] */
  constructor(grants) {
    this.#egress = grants && (grants.egress ?? []);
    this.#secrets = grants && (grants.secrets ?? []);
    this.reveals = grants?.reveal ?? [];
  }

  /** @param {string} key */
  hasSecret(key) {
    return this.#secrets === undefined || this.#secrets.some((grant) => grant.key === key);
  }

  /** @param {string} key @param {Place} place @param {string} host */
  allowsSecret(key, place, host) {
    if (this.#secrets === undefined) return true;
    const grants = this.#secrets.filter((grant) => grant.key === key && grant.places.some((granted) => isSame(granted, place)));
    return grants.some(({ hosts }) => !hosts || hosts.some((pattern) => fits(pattern, host)));
  }

  /** @param {WireRequest} request */
  allowsRequest(request) {
    return this.#egress === undefined || this.#egress.some((rule) => allows(rule, request));
  }
}

/** @param {EgressRule} rule @param {WireRequest} request */
function allows({ host, scheme = 'https', ports = [PORTS[scheme]], methods, paths }, request) {
  const url = new URL(`${request.scheme}://${request.authority}${request.target}`);
  const port = Number(url.port || PORTS[request.scheme]);
  return (
    fits(host, url.hostname) &&
    scheme === request.scheme &&
    ports.includes(port) &&
    (methods?.includes(request.method) ?? true) &&
    (paths?.some((path) => url.pathname.startsWith(path)) ?? true)
  );
}

/** A `*` matches one label. @param {string} pattern @param {string} host */
function fits(pattern, host) {
  const labels = pattern.toLowerCase().split('.');
  const given = host.toLowerCase().split('.');
  return labels.length === given.length && labels.every((label, at) => label === '*' || label === given[at]);
}

/** @param {Place} granted @param {Place} place */
function isSame(granted, place) {
  const [[kind, name]] = Object.entries(granted);
  const [[placeKind, placeName]] = Object.entries(place);
  return kind === placeKind && (kind === 'header' ? name.toLowerCase() === placeName.toLowerCase() : name === placeName);
}
