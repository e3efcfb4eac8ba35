import { expect, test } from "vitest";

import { REFUSALS } from "./refusals.ts";
import { type AttemptEnd, CLIENT_LEFT, toRequestStatus } from "./request-status.ts";

const CLASSES = [null, "usage_impossible", CLIENT_LEFT, ...Object.keys(REFUSALS)];

function statusesOf(outcomes: readonly AttemptEnd[], classes: readonly (string | null)[]) {
  const found = outcomes.flatMap((outcome) =>
    classes.map((errorClass) => toRequestStatus({ attempts: 1, outcome, errorClass })),
  );
  return [...new Set(found)].toSorted();
}

test("a request that its provider rejects never counts as failed", () => {
  expect(statusesOf(["refused"], CLASSES)).toEqual(["rejected_by_provider"]);
  const failures: AttemptEnd[] = ["failed", "timeout", "reset", "stream_died"];
  const blamed = ["content_policy", "context_overflow", "invalid_request", "request_too_large"];
  expect(statusesOf(failures, blamed)).toEqual(["rejected_by_provider"]);
  expect(statusesOf(failures, ["upstream_error", "rate_limit", null])).toEqual(["failed"]);
});

test("a request is cancelled if its client left, and succeeded if its answer is complete", () => {
  expect(statusesOf(["client_disconnected"], CLASSES)).toEqual(["cancelled"]);
  expect(statusesOf(["completed"], CLASSES)).toEqual(["succeeded"]);
});

test("a request without an attempt was rejected by the gateway, unless its client left", () => {
  const statuses = CLASSES.filter((each) => each !== CLIENT_LEFT).map((errorClass) =>
    toRequestStatus({ attempts: 0, outcome: "refused", errorClass }),
  );
  expect(new Set(statuses)).toEqual(new Set(["rejected_by_gateway"]));
  const left = { attempts: 0, outcome: "refused", errorClass: CLIENT_LEFT } as const;
  expect(toRequestStatus(left)).toBe("cancelled");
});
