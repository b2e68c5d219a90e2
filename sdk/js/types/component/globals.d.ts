// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The engine's own HTTP is left out of components, and what is left of it would end the instance without a word. An
 * exception says what to do instead.
 */
declare const GONE: string[];
