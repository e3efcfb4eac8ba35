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
    const choice = { message: { role: "assistant", content: "lemon" }, finish_reason: finish };
    return { body: { choices: [choice] }, usage: usageOf(tokens === "bound" ? bound : tokens) };
  });
  return (await runOn(lab, finishReasons)).status;
}

function usageOf(completion: number): Usage {
  return { prompt: 9, cachedPrompt: 0, cacheWrite: 0, completion, internalReasoning: 0 };
}

const SHORT: Ended = { finish: "stop", tokens: 2 };
const CUT: Ended = { finish: "length", tokens: "bound" };
const FALSELY_WHOLE: Ended = { finish: "stop", tokens: "bound" };
const FALSELY_CUT: Ended = { finish: "length", tokens: 2 };

test.each<[string, CheckStatus, Ended, Ended]>([
  ["answers with true finish reasons", "pass", SHORT, CUT],
  ["a cut answer that claims to have ended by itself", "fail", SHORT, FALSELY_WHOLE],
  ["a short answer that claims to be cut", "fail", FALSELY_CUT, CUT],
  ["an answer that ended before its bound, and was not cut", "pass", SHORT, SHORT],
  ["a model that speaks until its bound even where one word was asked for", "pass", CUT, CUT],
])("given %s, C5 ends with %s", async (_what, status, short, long) => {
  expect(await statusOf({ short, long })).toBe(status);
});
