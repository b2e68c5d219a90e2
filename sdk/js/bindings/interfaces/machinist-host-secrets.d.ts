// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
declare module 'machinist:host/secrets@0.1.0' {
  /**
   * The keys of the Secret, sorted, without user data.
   */
  export function keys(): Array<string>;
  /**
   * None when there is no such key.
   */
  export function open(key: string): Secret | undefined;
  /**
   * What the machine gets at boot, with the bootstrap token and the machine's name filled in. Present in `create` and
   * `initialize`, absent in every other call.
   */
  export function userData(): Secret | undefined;
  /**
   * Applied to the value in the order of the list. `plain` changes nothing.
   * # Variants
   *
   * ## `"plain"`
   *
   * ## `"base64"`
   *
   * Standard alphabet with padding.
   * ## `"form"`
   *
   * As in application/x-www-form-urlencoded.
   * ## `"json-escape"`
   *
   * The inside of a JSON string, without the quotes.
   * ## `"gzip"`
   */
  export type Encoding = 'plain' | 'base64' | 'form' | 'json-escape' | 'gzip';
  /**
   * Why the host did not do it.
   * # Variants
   *
   * ## `"not-granted"`
   *
   * The grants of this plugin do not allow it.
   * ## `"encodings"`
   *
   * An encoding does not fit behind the one before it, or there are more than four.
   * ## `"too-many"`
   *
   * This call holds as many placeholders as it may (256).
   */
  export type Refusal = 'not-granted' | 'encodings' | 'too-many';

  export class Secret implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * The length of the value in bytes, before any encoding.
    */
    length(): bigint;
    /**
    * True when the value starts with these bytes (at most 64 are compared; for formats such as `#cloud-config`).
    * Always false for a credential: only user data answers.
    */
    startsWith(prefix: Uint8Array): boolean;
    /**
    * A token of letters and digits that stands for the encoded value in requests of this call, and of no other.
    * The same encodings give the same token. Worthless outside the host.
    */
    placeholder(encodings: Array<Encoding>): string;
    /**
    * The value itself. Refused unless the operator granted `reveal` for this key; each call of it is counted.
    */
    reveal(): Uint8Array;
    [Symbol.dispose](): void;
  }
}
