import { afterAll, beforeAll } from "vitest";

/** Long enough for the first start of a run, which unpacks and starts a database. */
const HOOK_LIMIT_MS = 120_000;

/**
 * Opens a resource before the first test of the calling file or `describe`, and closes it after the
 * last one, whether tests pass or fail. By default its own `close` is called. Resources of one
 * scope open in the order of their declarations and close in the reverse order. The returned handle
 * has the members of what was opened, and throws when a member is used outside of that time.
 */
export function withResource<T extends object>(
  open: () => T | Promise<T>,
  close: (opened: T) => unknown = closeItself,
): T {
  let opened: T | undefined;
  beforeAll(async () => {
    opened = await open();
  }, HOOK_LIMIT_MS);
  afterAll(async () => {
    const last = opened;
    opened = undefined;
    if (last !== undefined) await close(last);
  }, HOOK_LIMIT_MS);
  return handleOf(() => {
    if (opened !== undefined) return opened;
    throw new Error("not open: use this inside of tests, and of hooks declared after it");
  });
}

function closeItself(opened: object): unknown {
  return "close" in opened && typeof opened.close === "function" ? opened.close() : undefined;
}

function handleOf<T extends object>(current: () => T): T {
  return new Proxy({} as T, {
    get: (_handle, name) => {
      const target = current();
      const member: unknown = Reflect.get(target, name, target);
      // Methods that use private members work on no `this` but the target.
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
    set: (_handle, name, value) => {
      const target = current();
      return Reflect.set(target, name, value, target);
    },
    has: (_handle, name) => Reflect.has(current(), name),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_handle, name) => {
      const found = Reflect.getOwnPropertyDescriptor(current(), name);
      // The proxy's own target has no members, so it may only report configurable ones.
      return found === undefined ? undefined : { ...found, configurable: true };
    },
  });
}
