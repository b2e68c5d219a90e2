// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-policy-types.d.ts" />
declare module 'machinist:policy/policy@0.1.0' {
  /**
   * Who this is. Must not fail.
   */
  export function describe(): About;
  /**
   * Checks the settings that the operator wrote: a JSON object, `{}` when there are none. The error says which field is
   * wrong and what belongs there; the policy is rejected with it. Must accept all settings that `evaluate` can work with.
   */
  export function checkSettings(settings: Json): void;
  /**
   * What to think of this Machine. `settings` are those that `check-settings` accepted.
   */
  export function evaluate(question: Question, settings: Json, now: Time): Verdict;
  export type About = import('machinist:policy/types@0.1.0').About;
  export type Json = import('machinist:policy/types@0.1.0').Json;
  export type Question = import('machinist:policy/types@0.1.0').Question;
  export type Time = import('machinist:policy/types@0.1.0').Time;
  export type Verdict = import('machinist:policy/types@0.1.0').Verdict;
}
