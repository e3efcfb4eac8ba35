import { afterAll, beforeAll } from "vitest";

import { assert } from "../../src/core/assert.ts";

/**
 * Opens something before the tests of a file or of a `describe`, and closes it after them. What it
 * returns is usable from the first `beforeAll` that is registered later on.
 */
export function liveHandle<T extends { close(): Promise<void> }>(open: () => Promise<T>): T {
  let opened: T | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(async () => {
    await opened?.close();
    opened = undefined;
  });
  return new Proxy({} as T, {
    get: (_target, name) => {
      assert(opened !== undefined, `${String(name)} is used before beforeAll or after afterAll`);
      return Reflect.get(opened, name) as unknown;
    },
  });
}
