import { expect, test } from "vitest";

import { DisposalStack } from "./disposal-stack.ts";

function stackOf(...steps: readonly [string, Error?][]): {
  readonly stack: DisposalStack;
  readonly closed: string[];
} {
  const stack = new DisposalStack();
  const closed: string[] = [];
  for (const [name, fault] of steps) {
    stack.use({
      close: async () => {
        await Promise.resolve();
        closed.push(name);
        if (fault !== undefined) throw fault;
      },
    });
  }
  return { stack, closed };
}

test("resources are closed in reverse order, one after the other, and only once", async () => {
  const { stack, closed } = stackOf(["ledger"], ["limits"], ["console"]);
  await stack.close();
  await stack.close();
  expect(closed).toEqual(["console", "limits", "ledger"]);
});

test("a close that fails leaves nothing open, and its fault is thrown", async () => {
  const fault = new Error("still busy");
  const { stack, closed } = stackOf(["ledger"], ["limits", fault], ["console"]);
  await expect(stack.close()).rejects.toBe(fault);
  expect(closed).toEqual(["console", "limits", "ledger"]);
});
