import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { REFUSED_ROWS_PER_MINUTE } from "../kernel/core/constants.ts";
import type { KeyId, OrgId, RequestId } from "../kernel/core/ids.ts";
import type { RefusedCount, RefusedRequest } from "./ledger-store.ts";
import { RefusedLane } from "./refused-lane.ts";
import { silentLog } from "../../test/support/silent-log.ts";

const HALF_A_SECOND_MS = 500;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function refused(keyId: string, createdAtMs = 0): RefusedRequest {
  return {
    requestId: "req_a" as RequestId,
    orgId: `org of ${keyId}` as OrgId,
    keyId: keyId as KeyId,
    modelId: null,
    route: "/v1/chat/completions",
    stream: false,
    errorClass: "invalid_request",
    createdAtMs,
  };
}

test("refused requests beyond a key's rows per minute are counted, and sent twice a second", async () => {
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

test("a refused request is stored with at most 256 characters of its model name", async () => {
  const sent: RefusedRequest[] = [];
  const lane = new RefusedLane({
    log: silentLog,
    send: (rows) => {
      sent.push(...rows);
      return Promise.resolve();
    },
  });
  const long = "m\0".repeat(1_000);
  for (const modelId of [long, "acme/small", null]) lane.submit({ ...refused("key_a"), modelId });
  await lane.drained();
  expect(sent.map(({ modelId }) => modelId)).toEqual(["m".repeat(256), "acme/small", null]);
});

test("each refused request of a key is counted once, even if sending fails in between", async () => {
  const counted = new Map<string, number>();
  let rows = 0;
  let fails = true;
  const lane = new RefusedLane({
    log: silentLog,
    send: (sentRows, counts) => {
      fails = !fails;
      if (!fails) return Promise.reject(new Error("the database is away"));
      rows += sentRows.length;
      for (const { keyId, minuteMs, requests } of counts) {
        const name = `${keyId} ${minuteMs}`;
        counted.set(name, (counted.get(name) ?? 0) + requests);
      }
      return Promise.resolve();
    },
  });
  const minuteMs = 60_000;
  const more = 7;
  for (const minute of [0, 1, 2]) {
    for (let n = 0; n < REFUSED_ROWS_PER_MINUTE + more; n += 1) {
      for (const key of ["key_a", "key_b"]) lane.submit(refused(key, minute * minuteMs + n));
    }
    await lane.drained();
  }
  await vi.advanceTimersByTimeAsync(minuteMs);
  expect(rows).toBe(6 * REFUSED_ROWS_PER_MINUTE);
  expect(Object.fromEntries(counted)).toEqual(
    Object.fromEntries(
      ["key_a", "key_b"].flatMap((key) =>
        [0, 1, 2].map((minute) => [`${key} ${minute * minuteMs}`, more]),
      ),
    ),
  );
});
