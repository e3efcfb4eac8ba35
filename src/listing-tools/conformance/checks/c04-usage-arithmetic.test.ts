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

test.each<[string, Deployment, string]>([
  ["a known text", chatListing(["text"]), "measured text, 1 copy"],
  ["three copies of it", chatListing(["text"]), "measured text, 3 copies"],
  ["a longer state", decisionListing(), "one question, longer state"],
])("a provider that lets nobody measure %s does not pass", async (_what, deployment, refused) => {
  const lab = stubLab(deployment, ({ name }) =>
    name === refused ? { status: 400 } : { usage: { ...ZERO_USAGE, prompt: 900 } },
  );
  const finding = await runOn(lab, usageArithmetic);
  expect(finding.message).toBe(`${refused}: not answered with usage (400)`);
  const verdict = modelVerdict([{ id: "C1", status: "pass" }, { id: "C4", ...finding }]);
  expect(verdict).toBe("inconclusive");
});
