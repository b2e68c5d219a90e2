/**
 * Components lack the engine's own HTTP, and the rest of it would end the instance without a message. These functions
 * throw an error that says what to use instead.
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
