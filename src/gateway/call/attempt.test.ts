import { describe, expect, test } from "vitest";

import { simulatorManifest, textModel } from "../../../test/support/gateway.ts";
import {
  openRecipe,
  promisesOnly,
  RECIPE_PRINCIPAL,
  RecordedExchange,
} from "../../../test/support/recipe.ts";
import type { Deployment } from "../../catalog/catalog.ts";
import { chatOn } from "../../formats/modality/chat/index.ts";
import type { ParsedChatRequest } from "../../formats/modality/chat/parse-request.ts";
import type { AnswerBridge } from "../../formats/wire/answer/answer-bridge.ts";
import { brokenOffFailure, withoutBlame } from "../../formats/wire/failure/failures.ts";
import { wires } from "../../formats/wire/wires.ts";
import { refusal } from "../../kernel/core/refusals.ts";
import { systemClock } from "../../kernel/core/time.ts";
import { ZERO_USAGE } from "../../kernel/core/usage.ts";
import type { AttemptResult } from "../../upstream/run-attempt.ts";
import { BREACH } from "../verification/conduct.ts";
import { noteConduct } from "./attempt.ts";
import type { CallKind } from "./call-kind.ts";
import { serveCall } from "./call.ts";

const TEXT = { modality: "text", billing: "token" } as Deployment;

const USAGE = { ...ZERO_USAGE, prompt: 10, completion: 60, internalReasoning: 4 };

interface Noted {
  readonly deployment?: Partial<Deployment>;
  readonly bridge?: Partial<AnswerBridge> | "none";
  readonly result?: Partial<AttemptResult>;
  readonly outputTokens?: number;
  readonly hasDefaultBound?: boolean;
  readonly isImpossible?: boolean;
}

/**
 * Returns the breaches (`BREACH` bits) that `noteConduct` counts for one answer; undefined if it
 * does not count the answer at all.
 */
function noted({ deployment, bridge, result, isImpossible = false, ...asked }: Noted) {
  const { outputTokens = 64, hasDefaultBound = false } = asked;
  const seen: number[] = [];
  const standing = {
    mayRoute: () => true,
    isDistrusted: () => false,
    note: (_listing: Deployment, orgId: string, breaches: number) => {
      expect(orgId).toBe("org-1");
      seen.push(breaches);
    },
  };
  const honest = { usage: USAGE, usageFlaw: undefined, hasWrongFinish: false };
  noteConduct(
    { standing },
    {
      deployment: { ...TEXT, ...deployment },
      orgId: "org-1",
      request: { outputTokens, hasDefaultBound },
      isImpossible,
      result: {
        bridge: bridge === "none" ? undefined : ({ ...honest, ...bridge } as AnswerBridge),
        failure: undefined,
        timedOut: false,
        hasOutput: true,
        upstreamStatus: 200,
        firstByteMs: 1,
        firstOutputMs: null,
        durationMs: 2,
        ...result,
      },
    },
  );
  expect(seen.length).toBeLessThan(2);
  return seen[0];
}

const broken = { failure: brokenOffFailure(200) };
const served = (isSubstituted: boolean) => ({ servedModel: { name: "x", isSubstituted } });

test.each<[string, Noted, number]>([
  ["no breach if it has exactly as many tokens as were allowed", {}, 0],
  ["a breach if it has one token too many", { outputTokens: 63 }, BREACH.boundExceeded],
  [
    "a breach if it has more tokens than the listing's most, to which the default was lowered",
    { deployment: { maxOutputTokens: 63 }, hasDefaultBound: true },
    BREACH.boundExceeded,
  ],
  ["no breach if it has as many as were asked for", { deployment: { maxOutputTokens: 63 } }, 0],
  ["a breach if another model answered", { bridge: served(true) }, BREACH.substituted],
  ["no breach if its reported model is no substitute", { bridge: served(false) }, 0],
  ["a breach if its usage is missing", { bridge: { usage: undefined } }, BREACH.usageMissing],
  ["a breach if its usage is flawed", { bridge: { usageFlaw: "a sum" } }, BREACH.usageImpossible],
  ["a breach if its usage is impossible", { isImpossible: true }, BREACH.usageImpossible],
  ["a breach if its finish is wrong", { bridge: { hasWrongFinish: true } }, BREACH.wrongFinish],
  ["a breach if it broke off", { result: broken, bridge: { usage: undefined } }, BREACH.unreadable],
  ["a breach if it is a page", { result: broken, bridge: "none" }, BREACH.unreadable],
])("an answer is counted with %s", (_name, input, breaches) => {
  expect(noted(input)).toBe(breaches);
});

describe("the conduct record of a listing", () => {
  const failing = (status: number) => ({
    refusal: refusal("upstream_error", "rejected", { status }),
    failover: false,
    strike: "neutral" as const,
  });

  const refusedBy = (status: number) => ({ upstreamStatus: status, failure: failing(status) });
  const unsent = { upstreamStatus: null, failure: failing(499) };
  const inside: Noted["result"] = { failure: { ...failing(503), strike: "strike" } };
  const reset = { upstreamStatus: null, failure: brokenOffFailure() };
  const gone = { failure: withoutBlame(brokenOffFailure(200)) };

  test.each<[string, Noted]>([
    ["an answer to a customer's own provider key", { deployment: { ownKey: {} as never } }],
    ["a 4xx that the request caused", { result: refusedBy(400), bridge: "none" }],
    ["a request that was never sent", { result: unsent, bridge: "none" }],
    ["an error inside a 200", { result: inside }],
    ["a client that left for good", { result: gone }],
    ["an answer that ran into the time limit", { result: { ...broken, timedOut: true } }],
    ["a connection reset before the response head", { result: reset, bridge: "none" }],
  ])("does not count %s as a good or as a bad answer", (_name, input) => {
    expect(noted(input)).toBeUndefined();
    const worse = input.bridge === "none" ? {} : { bridge: { ...input.bridge, ...served(true) } };
    expect(noted({ ...input, ...worse })).toBeUndefined();
  });
});

test("a reported cost replaces usage in tokens only if the listing is billed by reported cost", () => {
  const bridge = { usage: undefined, reportedCostUsd: "0.02" };
  const image = { modality: "image", billing: "reported_cost" } as const;
  expect(noted({ deployment: image, bridge })).toBe(0);
  expect(noted({ deployment: { ...image, billing: "token" }, bridge })).toBe(BREACH.usageMissing);
  expect(noted({ deployment: image, bridge: { usage: undefined } })).toBe(BREACH.usageMissing);
  // Tokens do not hide that an answer reports no cost and is given away.
  expect(noted({ deployment: image, bridge: { usage: USAGE } })).toBe(BREACH.usageMissing);
});

test("an accepted video job is counted with no breach although it reports no usage yet", () => {
  const video = { modality: "video", billing: "reported_cost" } as const;
  expect(noted({ deployment: video, bridge: { usage: undefined } })).toBe(0);
});

test("the output bound is not checked for an image answer", () => {
  expect(noted({ deployment: { modality: "image" }, outputTokens: 0 })).toBe(0);
});

describe("an attempt of a call", () => {
  const manifest = simulatorManifest({
    provider: "only",
    dialect: "wire_a",
    baseUrl: "https://only.example/v1",
    models: [textModel("m/x")],
  });
  const choice = { message: { role: "assistant", content: "Hi" }, finish_reason: "stop" };
  const answer = JSON.stringify({ id: "1", model: "m/other", choices: [choice] });

  /**
   * Makes one call whose provider answers with another model and without usage. Returns listing,
   * organization and breaches of each answer that was counted.
   */
  async function countedOf(change: Partial<CallKind<ParsedChatRequest>>): Promise<unknown[]> {
    const { deps, sent } = openRecipe(systemClock, [manifest]);
    const counted: unknown[] = [];
    const standing = {
      ...deps.standing,
      note: (listing: Deployment, orgId: string, breaches: number) => {
        counted.push([listing.id, orgId, breaches]);
      },
    };
    const body = { model: "m/x", max_tokens: 8, messages: [{ role: "user", content: "Hello" }] };
    const kind = { ...chatOn(wires.get("wire_a"), wires), ...change };
    void serveCall({ ...deps, standing }, new RecordedExchange(body), kind);
    await promisesOnly();
    sent[0]?.answer(200, answer);
    await promisesOnly();
    return counted;
  }

  test("counts the answer with which a provider accepts a job", async () => {
    const accept = () => Promise.resolve({ ok: true, body: "{}" } as const);
    expect(await countedOf({ accept })).toHaveLength(1);
  });

  test("counts its answer once, for the organization that asked", async () => {
    const breaches = BREACH.substituted | BREACH.usageMissing;
    expect(await countedOf({})).toEqual([["only/m/x", RECIPE_PRINCIPAL.orgId, breaches]]);
  });
});
