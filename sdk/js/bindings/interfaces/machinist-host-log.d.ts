// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
declare module 'machinist:host/log@0.1.0' {
  /**
   * False when the host drops this level anyway: ask before you build an expensive message.
   */
  export function enabled(level: Level): boolean;
  /**
   * `message` is a static text; put what varies into `fields`.
   */
  export function emit(level: Level, message: string, fields: Array<[string, string]>): void;
  /**
   * # Variants
   *
   * ## `"trace"`
   *
   * ## `"debug"`
   *
   * ## `"info"`
   *
   * ## `"warn"`
   *
   * ## `"error"`
   */
  export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';
}
