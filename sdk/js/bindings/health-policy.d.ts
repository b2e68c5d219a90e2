// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./interfaces/machinist-host-log.d.ts" />
/// <reference path="./interfaces/machinist-policy-policy.d.ts" />
/// <reference path="./interfaces/machinist-policy-types.d.ts" />
declare module 'machinist:policy/health-policy@0.1.0' {
  export type * as MachinistHostLog010 from 'machinist:host/log@0.1.0'; // import machinist:host/log@0.1.0
  export type * as MachinistPolicyTypes010 from 'machinist:policy/types@0.1.0'; // import machinist:policy/types@0.1.0
  export * as policy from 'machinist:policy/policy@0.1.0'; // export machinist:policy/policy@0.1.0
}
