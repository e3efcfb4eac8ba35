import { expect, test } from "vitest";

import type { ClientExchange } from "../call/client-exchange.ts";
import { USAGE_FILE_GROUPS_MAX, USAGE_FILE_TIMEOUT_MS } from "../../kernel/core/constants.ts";
import { createRequestId, type OrgId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import type { Refusal } from "../../kernel/core/refusals.ts";
import { ZERO_USAGE } from "../../kernel/core/usage.ts";
import type { RecordStore } from "./postgres-record-store.ts";
import type { UsageGroup, UsageQuery } from "./record-rows.ts";
import type { ReportedRequest } from "./request-pages.ts";
import { serveUsage } from "./serve-records.ts";
import { UsageCsv } from "./usage-csv.ts";
import { OrgGate } from "./org-gate.ts";

const sums = new OrgGate({ running: 1, waiting: 0 }, "sums");

/** A client that takes every byte at once, and a list of how its answers ended. */
function openExchange(): { readonly exchange: ClientExchange; readonly ends: string[] } {
  const ends: string[] = [];
  const exchange = {
    principal: { orgId: "org_1" as OrgId },
    gone: false,
    onGone: () => undefined,
    onWritable: () => undefined,
    begin: () => undefined,
    write: () => true,
    end: () => void ends.push("end"),
    cut: () => void ends.push("cut"),
    answer: () => void ends.push("answer"),
    refuse: (refusal: Refusal) => void ends.push(refusal.message),
  };
  return { exchange: exchange as unknown as ClientExchange, ends };
}

const row = {
  requestId: createRequestId(0),
  createdAtMs: 0,
  keyId: "key_1",
  keyOrigin: "console",
  modelId: "acme/small",
  providerId: "acme",
  route: "/v1/chat/completions",
  usage: null,
  debitMicroUsd: microUsd(1n),
  basis: null,
} as ReportedRequest;

test("a usage file that takes too long is cut off, even if its client reads fast", async () => {
  let pages = 0;
  const records = {
    usagePage: async () => {
      pages += 1;
      return { rows: [row], nextCursor: row.requestId };
    },
  } as unknown as RecordStore;
  const clock = { nowMs: () => 0, monotonicMs: () => (pages * USAGE_FILE_TIMEOUT_MS) / 10 };
  const { exchange, ends } = openExchange();
  await new UsageCsv(records, clock, sums).serve(exchange, { range: {} });
  expect(ends).toEqual(["cut"]);
  expect(pages).toBe(11);
});

const group: UsageGroup = {
  group: "key_1",
  requests: 1,
  usage: ZERO_USAGE,
  debitMicroUsd: microUsd(1n),
};

test.each([
  ["", 50, true],
  ["&limit=59", 59, true],
  ["&limit=60", 60, false],
])(
  "the JSON answer says in has_more whether it omits any of 60 groups, with the query suffix %j",
  async (more, count, hasMore) => {
    const zero = microUsd(0n);
    const spend = { spentMicroUsd: zero, inFlightMicroUsd: zero, capMicroUsd: null, resetAtMs: 0 };
    const records = {
      balance: async () => ({ settledMicroUsd: zero, heldMicroUsd: zero }),
      monthSpend: async () => spend,
      usageGroups: async ({ limit }: UsageQuery) =>
        Array.from({ length: Math.min(limit, 60) }, () => group),
    } as unknown as RecordStore;
    const bodies: string[] = [];
    const exchange = {
      principal: { orgId: "org_1", keyId: "key_1" },
      header: () => undefined,
      answer: (_type: string, _headers: object, body: Buffer) => void bodies.push(body.toString()),
    } as unknown as ClientExchange;
    const deps = { records, sums } as unknown as Parameters<typeof serveUsage>[0];
    await serveUsage(deps, exchange, new URLSearchParams(`group_by=model${more}`));
    const answer = JSON.parse(bodies[0] ?? "") as { data: unknown[] };
    expect(answer).toMatchObject({ has_more: hasMore, next_cursor: null });
    expect(answer.data).toHaveLength(count);
  },
);

test("more groups than a file may have are refused, not omitted", async () => {
  const records = {
    usageGroups: async (query: { readonly limit: number }) =>
      Array.from({ length: Math.min(query.limit, USAGE_FILE_GROUPS_MAX + 5) }, () => group),
  } as unknown as RecordStore;
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const { exchange, ends } = openExchange();
  const csv = new UsageCsv(records, clock, sums);
  await csv.serve(exchange, { range: {}, groupBy: "key" });
  expect(ends).toEqual([expect.stringContaining("ask for a shorter time range")]);
  await csv.serve(exchange, { range: {}, groupBy: "key", limit: 10 });
  expect(ends[1]).toBe("answer");
});
