// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
declare module 'machinist:host/settings@0.1.0' {
  /**
   * A JSON object in UTF-8; `{}` when the operator gave none. The same for the whole call.
   */
  export function get(): string;
}
