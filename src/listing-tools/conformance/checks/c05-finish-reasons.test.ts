import { expect, test } from "vitest";

import type { Usage } from "../../../kernel/core/usage.ts";
import { chatListing, runOn, stubLab } from "../../../../test/fixtures/conformance/stub-lab.ts";
import type { CheckStatus } from "../report/finding.ts";
import { finishReasons } from "./c05-finish-reasons.ts";

const listing = chatListing(["text"]);

interface Ended {
  readonly finish: string;
  /** `bound`: as many tokens as the request allows. */
  readonly tokens: number | "bound";
}

const SMALL_BOUND_MAX = 9;

/** Returns C5's status when both answers end like this and stop sequences are obeyed. */
async function statusOf({ short, long }: { short: Ended; long: Ended }): Promise<CheckStatus> {
  const lab = stubLab(listing, ({ name, body }) => {
    const isLong = name.startsWith("long answer");
    const bound = Number(body["max_tokens"]);
    const { finish, tokens } = !isLong ? short : bound < SMALL_BOUND_MAX ? long : SHORT;
    const choice = {
      message: { role: "assistant", content: "lemon" },
      finish_reason: finish,
    };
    return { body: { choices: [choice] }, usage: usageOf(tokens === "bound" ? bound : tokens) };
  });
  return (await runOn(lab, finishReasons)).status;
}

function usageOf(completion: number): Usage {
  return { prompt: 9, cachedPrompt: 0, cacheWrite: 0, completion, internalReasoning: 0 };
}

const SHORT: Ended = { finish: "stop", tokens: 2 };
const CUT: Ended = { finish: "length", tokens: "bound" };

test.each<[string, Parameters<typeof statusOf>[0], CheckStatus]>([
  ["answers with true finish reasons", { short: SHORT, long: CUT }, "pass"],
  [
    "a cut answer that claims to have ended by itself",
    { short: SHORT, long: { finish: "stop", tokens: "bound" } },
    "fail",
  ],
  [
    "a short answer that claims to be cut",
    { short: { finish: "length", tokens: 2 }, long: CUT },
    "fail",
  ],
  [
    "an answer that ended before its bound, and was not cut",
    { short: SHORT, long: { finish: "stop", tokens: 2 } },
    "pass",
  ],
  [
    "a model that speaks until its bound even where one word was asked for",
    { short: { finish: "length", tokens: "bound" }, long: CUT },
    "pass",
  ],
])("given %s, C5 ends with %s", async (_what, ended, status) => {
  expect(await statusOf(ended)).toBe(status);
});
