import { expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import { ZERO_USAGE } from "../../../kernel/core/usage.ts";
import {
  chatListing,
  decisionListing,
  runOn,
  stubLab,
} from "../../../../test/fixtures/conformance/stub-lab.ts";
import { modelVerdict } from "../report/verdict.ts";
import { usageArithmetic } from "./c04-usage-arithmetic.ts";

const usage = { ...ZERO_USAGE, prompt: 900 };

test.each<[string, Deployment, readonly string[]]>([
  [
    "a known text",
    chatListing(["text"]),
    ["measured text, 1 copy", "measured text, 1 copy, larger bound"],
  ],
  ["three copies of it", chatListing(["text"]), ["measured text, 3 copies"]],
  ["a longer state", decisionListing(), ["one question, longer state"]],
])("a provider that lets nobody measure %s does not pass", async (_what, deployment, refused) => {
  const lab = stubLab(deployment, ({ name }) =>
    refused.includes(name) ? { status: 400 } : { usage },
  );
  const finding = await runOn(lab, usageArithmetic);
  expect(finding.message).toBe(`${refused.at(-1)}: not answered with usage (400)`);
  const verdict = modelVerdict([
    { id: "C1", status: "pass" },
    { id: "C4", ...finding },
  ]);
  expect(verdict).toBe("inconclusive");
});

test("a provider that refuses small bounds is measured with a larger one", async () => {
  const lab = stubLab(chatListing(["text"]), ({ body }) =>
    Number(body["max_tokens"]) < 64 ? { status: 400 } : { usage },
  );
  // Three copies of a text are billed as one is.
  expect(await runOn(lab, usageArithmetic)).toMatchObject({
    status: "fail",
    message: "the tokens billed for a known text are not what it has",
  });
});
