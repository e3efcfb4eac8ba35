import { expect, test } from "vitest";

import type { Usage } from "../../../kernel/core/usage.ts";
import { chatListing, runOn, stubLab } from "../../../../test/fixtures/conformance/stub-lab.ts";
import type { CheckStatus } from "../report/finding.ts";
import { finishReasons } from "./c05-finish-reasons.ts";

const listing = chatListing(["text"]);

interface Ended {
  readonly finish: string;
  /** `bound`: as many as were allowed. */
  readonly tokens: number | "bound";
}

const SMALL_BOUND_MAX = 9;

/** The check's result when the short and the long answer end like this, and stop sequences hold. */
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

test("answers that say truly why they ended pass", async () => {
  expect(await statusOf({ short: SHORT, long: CUT })).toBe("pass");
});

test("a cut answer that claims to have ended by itself is found", async () => {
  expect(await statusOf({ short: SHORT, long: { finish: "stop", tokens: "bound" } })).toBe("fail");
});

test("a short answer that claims to be cut is found", async () => {
  expect(await statusOf({ short: { finish: "length", tokens: 2 }, long: CUT })).toBe("fail");
});

test("an answer that ended before its bound is not one that was cut", async () => {
  expect(await statusOf({ short: SHORT, long: { finish: "stop", tokens: 2 } })).toBe("pass");
});

test("a model that speaks until its bound is truly cut, even where one word was asked for", async () => {
  expect(await statusOf({ short: { finish: "length", tokens: "bound" }, long: CUT })).toBe("pass");
});
