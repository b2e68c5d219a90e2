/**
 * The engine's own HTTP is left out of components, and what is left of it would end the instance without a word. An
 * exception says what to do instead.
 */

const GONE = ['fetch', 'Request', 'Response', 'Headers'];

for (const name of GONE) {
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      throw new ReferenceError(`a component has no ${name}: use host.http`);
    },
  });
}
