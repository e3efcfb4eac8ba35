import { expect, test } from "vitest";

import { CLIENT_LEFT, microUsd } from "../../kernel/index.ts";
import { buildAnswerHeaders, listDroppedParams } from "./answer-headers.ts";
import type { AttemptRecord } from "./record-rows.ts";

const completed: AttemptRecord = {
  ordinal: 1,
  providerId: "prov-a",
  upstreamModelId: "a",
  startedAtMs: 0,
  firstByteMs: 10,
  durationMs: 20,
  outcome: "completed",
  upstreamStatus: 200,
  errorClass: null,
  served: null,
  answered: {},
  usage: null,
  reserveMicroUsd: microUsd(1n),
  debitMicroUsd: microUsd(1n),
  basis: "reported",
  sheet: { pinId: "pin", abovePromptTokens: 0 },
};

test("an answer's headers are those of the attempt that served it, with the number of attempts", () => {
  const first = { ...completed, outcome: "failed", answered: { droppedParams: "seed" } } as const;
  const answered = { remainingRequests: 9, remainingTokens: 800, queueMs: 3, droppedParams: "a,b" };
  const attempts = [first, { ...completed, ordinal: 2, providerId: "prov-b", answered }];
  expect(buildAnswerHeaders({ attempts })).toEqual({
    "x-tm-provider": "prov-b",
    "x-tm-attempts": "2",
    "x-tm-remaining-rpm": "9",
    "x-tm-remaining-tpm": "800",
    "x-tm-queue-ms": "3",
    "x-tm-dropped-params": "a,b",
  });
  expect(listDroppedParams({ attempts })).toEqual(["a", "b"]);
});

test("a request that is in flight has no answer headers yet", () => {
  const attempts = [{ ...completed, outcome: "in_flight" } as const];
  expect(buildAnswerHeaders({ attempts })).toEqual({});
});

test("an error's retry-after is that of the last attempt that was not throttled", () => {
  const failed = {
    ...completed,
    outcome: "failed",
    errorClass: "overloaded",
    answered: { retryAfterSeconds: 7 },
  } as const;
  const throttled = {
    ...failed,
    ordinal: 2,
    errorClass: "rate_limit",
    answered: { retryAfterSeconds: 60 },
  } as const;
  expect(buildAnswerHeaders({ attempts: [failed, throttled] })).toEqual({
    "x-tm-attempts": "2",
    "retry-after": "7",
  });
  expect(buildAnswerHeaders({ attempts: [throttled] })).toMatchObject({ "retry-after": "60" });
});

test("a refusal's headers are made from its recorded reason", () => {
  const reason = {
    status: 429,
    retryable: true,
    origin: "gateway_admission",
    limit_scope: "key",
    limit_kind: "rpm",
    limit_id: "key:one",
    retry_after: 41,
    dropped_params: ["top_k"],
  };
  const refused = { errorClass: "rate_limit", reason };
  expect(buildAnswerHeaders({ attempts: [], refused })).toEqual({
    "x-tm-error-code": "rate_limit",
    "x-tm-error-origin": "gateway_admission",
    "x-tm-limit-scope": "key",
    "x-tm-limit-kind": "rpm",
    "x-tm-limit-id": "key:one",
    "retry-after": "41",
    "x-tm-dropped-params": "top_k",
  });
  expect(
    buildAnswerHeaders({ attempts: [], refused: { errorClass: CLIENT_LEFT, reason: null } }),
  ).toEqual({});
});
