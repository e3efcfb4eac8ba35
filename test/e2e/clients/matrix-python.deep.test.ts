import { resolve } from "node:path";
import { expect, test } from "vitest";
import { withClientProcess } from "../../support/clients/child-driver.ts";
import { PYTHON_CLIENTS } from "../../support/clients/deep-clients.ts";
import { clientMatrix, type ClientRow } from "../../support/clients/matrix.ts";
import { hasPython, pythonWith } from "../../support/clients/python.ts";
import { withGateway } from "../../support/gateway.ts";

const CHILD = resolve(import.meta.dirname, "../../support/clients/driver_child.py");
const OFFICIAL = {
  isOfficial: true,
  structured: "format",
  errors: ["AuthenticationError", "RateLimitError", "NotFoundError"],
} as const;

const gateway = withGateway();

if (hasPython()) {
  const clients = withClientProcess(async () => ({
    file: await pythonWith(PYTHON_CLIENTS),
    args: [CHILD],
  }));
  const rows: readonly ClientRow[] = [
    {
      name: "openai 3.54 for Python",
      drive: (...order) => clients.driver("openai")(...order),
      wire: "a",
      ...OFFICIAL,
    },
    {
      name: "anthropic 2.12 for Python",
      drive: (...order) => clients.driver("anthropic")(...order),
      wire: "b",
      ...OFFICIAL,
    },
  ];
  clientMatrix(gateway, rows);
} else {
  test("NOT RUN: openai and anthropic for Python, as this machine has no Python 3.9", () => {
    expect(hasPython()).toBe(false);
  });
}
