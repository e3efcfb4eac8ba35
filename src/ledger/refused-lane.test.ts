import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { REFUSED_ROWS_PER_MINUTE } from "../core/constants.ts";
import type { KeyId, OrgId, RequestId } from "../core/ids.ts";
import type { RefusedCount, RefusedRequest } from "./ledger-store.ts";
import { RefusedLane } from "./refused-lane.ts";
import { silentLog } from "../../test/support/silent-log.ts";

const HALF_A_SECOND_MS = 500;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function refused(keyId: string): RefusedRequest {
  return {
    requestId: "req_a" as RequestId,
    orgId: `org of ${keyId}` as OrgId,
    keyId: keyId as KeyId,
    modelId: null,
    route: "/v1/chat/completions",
    stream: false,
    errorClass: "invalid_request",
    createdAtMs: 0,
  };
}

test("requests beyond the rows of a minute are counted together, twice a second", async () => {
  const sent: (readonly RefusedCount[])[] = [];
  const lane = new RefusedLane({
    log: silentLog,
    send: (_rows, counts) => {
      sent.push(counts);
      return Promise.resolve();
    },
  });
  const keys = ["key_a", "key_b"];
  for (let n = 0; n < REFUSED_ROWS_PER_MINUTE; n += 1) {
    for (const key of keys) lane.submit(refused(key));
  }
  await lane.drained();
  sent.length = 0;
  const stepMs = 10;
  for (let passedMs = 0; passedMs < 2 * HALF_A_SECOND_MS; passedMs += stepMs) {
    for (const key of keys) lane.submit(refused(key));
    await vi.advanceTimersByTimeAsync(stepMs);
  }
  const each = HALF_A_SECOND_MS / stepMs;
  const numbers = sent.map((counts) => counts.map(({ requests }) => requests));
  expect(numbers).toEqual([
    [each, each],
    [each, each],
  ]);
});
