// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Components lack the engine's own HTTP, and the rest of it would end the instance without a message. These functions
 * throw an error that says what to use instead.
 */
declare const GONE: string[];
