import { expect, test } from "vitest";

import type { ConsoleDeps } from "./console-deps.ts";
import { consoleHandlers } from "./console-handlers.ts";
import { ROUTES } from "./contract.ts";
import { openReportGates } from "./concurrency-gate.ts";

test("every route of the contract has a handler, and every handler a route", () => {
  // The handlers are never called, since the list of routes does not depend on their dependencies.
  const handlers = consoleHandlers({} as ConsoleDeps, openReportGates());
  expect(Object.keys(handlers).sort()).toEqual(Object.keys(ROUTES).sort());
});
