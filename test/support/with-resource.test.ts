import { describe, expect, test } from "vitest";
import { withResource } from "./with-resource.ts";

const events: string[] = [];

/** Its methods accept no `this` but an instance. */
class Counter {
  label = "none";
  #count = 0;

  next(): number {
    this.#count += 1;
    return this.#count;
  }
}

let counter: Counter;
let usedEarly: unknown;

describe("while its tests run", () => {
  counter = withResource(
    () => new Counter(),
    () => events.push("first closed"),
  );
  const dependent = withResource(
    () => Promise.resolve({ startedAt: counter.next() }),
    ({ startedAt }) => events.push(`second closed, of ${startedAt}`),
  );
  try {
    usedEarly = counter.label;
  } catch (error) {
    usedEarly = error;
  }

  test("a resource has the members of what was opened, in the order of declarations", () => {
    expect(dependent.startedAt).toBe(1);
    expect(counter.next()).toBe(2);
    counter.label = "changed";
    expect(Object.keys(counter)).toEqual(["label"]);
    expect(counter.label).toBe("changed");
    expect("label" in counter).toBe(true);
    expect(events).toEqual([]);
  });
});

test("a resource is closed after its tests, in the reverse order", () => {
  expect(events).toEqual(["second closed, of 1", "first closed"]);
});

test("a resource that is used too early or too late says so", () => {
  expect(String(usedEarly)).toContain("not open");
  expect(() => counter.next()).toThrow("not open");
  expect(() => void (counter.label = "late")).toThrow("not open");
});
