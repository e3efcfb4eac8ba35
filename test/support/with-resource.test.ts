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

const counter = ((): Counter => {
  let handle: Counter | undefined;
  describe("while its tests run", () => {
    const opened = withResource(
      () => new Counter(),
      () => events.push("first closed"),
    );
    const dependent = withResource(
      () => Promise.resolve({ startedAt: opened.next() }),
      ({ startedAt }) => events.push(`second closed, of ${startedAt}`),
    );
    handle = opened;

    test("a resource has the members of what was opened, in the order of declarations", () => {
      expect(dependent.startedAt).toBe(1);
      expect(opened.next()).toBe(2);
      opened.label = "changed";
      expect({ ...opened }).toEqual({ label: "changed" });
      expect("label" in opened).toBe(true);
      expect(events).toEqual([]);
    });
  });
  if (handle === undefined) throw new Error("a describe is collected at once");
  return handle;
})();

const usedEarly = ((): unknown => {
  try {
    return counter.label;
  } catch (error) {
    return error;
  }
})();

test("a resource is closed after its tests, in the reverse order", () => {
  expect(events).toEqual(["second closed, of 1", "first closed"]);
});

test("a resource that is used too early or too late says so", () => {
  expect(String(usedEarly)).toContain("not open");
  expect(() => counter.next()).toThrow("not open");
  expect(() => void (counter.label = "late")).toThrow("not open");
});
