import { afterAll, beforeAll } from "vitest";

/** Generous: the first start of a run unpacks and starts a database on a busy machine. */
const HOOK_LIMIT_MS = 120_000;

/**
 * The result of `open`, for all tests of the calling file or `describe`: opened before the first
 * test, closed after the last one, whether they pass or fail. By default its own `close` is called.
 * Several resources of one scope open in the order of their declarations and close in the reverse
 * order. The returned handle has the members of what was opened, and throws when a member is used
 * outside of that time.
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
      // A class with private members accepts no other `this`.
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
      // The handle itself owns nothing: what it reports must be configurable.
      return found === undefined ? undefined : { ...found, configurable: true };
    },
  });
}
