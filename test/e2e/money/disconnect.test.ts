import type { ClientRequest } from "node:http";

import { describe, expect, test } from "vitest";

import { addKey } from "../../support/add-key.ts";
import { ask, at, get, openAsk, type Ask, type HttpAnswer, type Wire } from "../../support/ask.ts";
import {
  brokenBooks,
  debitsOf,
  ended,
  nothingHeld,
  until,
  untilTaken,
} from "../../support/books.ts";
import { withGatedProvider, type GatedCall } from "../../support/gated-provider.ts";
import {
  simulatorManifest,
  textModel,
  withGateway,
  withSimulator,
  type TestAccount,
} from "../../support/gateway.ts";

const SLOTS = 16;

const simulator = withSimulator();
const provider = withGatedProvider(simulator);
const gateway = withGateway(() => ({
  settings: {
    concurrentRequests: SLOTS,
    orgRequestsPerMinute: 10_000,
    keyRequestsPerMinute: 10_000,
    keepaliveMs: 60_000,
  },
  manifests: (["wire_a", "wire_b"] as const).map((dialect) =>
    simulatorManifest({
      provider: dialect.replace("_", "-"),
      dialect,
      baseUrl: `${provider.url}/v1`,
      models: [textModel(`gated/${dialect}`)],
    }),
  ),
}));

interface Route {
  readonly wire: Wire;
  readonly upstream: Wire;
  readonly stream: boolean;
}

const ROUTES: readonly Route[] = [
  { wire: "wire_a", upstream: "wire_a", stream: true },
  { wire: "wire_b", upstream: "wire_b", stream: true },
  { wire: "wire_b", upstream: "wire_a", stream: true },
  { wire: "wire_a", upstream: "wire_b", stream: false },
];

let asked = 0;

/** A request with a mark by which its call at the provider is found. */
function newAsk(account: TestAccount, route: Route): Ask & { readonly mark: string } {
  const mark = `mark-${asked++}-mark`;
  const { wire, stream } = route;
  return { key: account.key, wire, stream, model: `gated/${route.upstream}`, text: mark, mark };
}

function callOf(mark: string): Promise<GatedCall> {
  return until(`the provider has ${mark}`, () =>
    provider.calls.find((call) => call.bodyText.includes(mark)),
  );
}

/** Sends a request and lets its whole answer through. */
async function stay(account: TestAccount, route: Route): Promise<{ cost: bigint; pieces: number }> {
  const request = newAsk(account, route);
  const answer = ask(gateway.url, request);
  const call = await callOf(request.mark);
  call.release();
  const record = await ended(gateway, account, (await answer).requestId);
  expect(record.outcome).toBe("completed");
  const cost = record.attempts[0]?.debitMicroUsd ?? 0n;
  expect(cost).toBeGreaterThan(0n);
  return { cost, pieces: call.pieces.length };
}

interface Client {
  readonly sent: ClientRequest;
  readonly seen: () => string;
}

function open(request: Ask): Client {
  let seen = "";
  const sent = openAsk(gateway.url, request);
  sent.on("error", () => undefined);
  sent.on("response", (response) => {
    response.on("error", () => undefined);
    response.on("data", (chunk: Buffer) => (seen += chunk.toString()));
  });
  return { sent, seen: () => seen };
}

/** Lets `count` pieces through, closes the client's socket, then lets the rest come. */
async function leaveAt(account: TestAccount, route: Route, count: number): Promise<void> {
  const request = newAsk(account, route);
  const client = open(request);
  const call = await callOf(request.mark);
  if (count > 0) call.release(count);
  const spoken = call.pieces.slice(0, count).some((piece) => piece.includes("You said"));
  if (spoken) await until("the client gets it", () => client.seen().includes("You said"));
  expect(client.seen() !== "").toBe(spoken);
  const before = linesOfTheGone();
  client.sent.destroy();
  await until("the gateway knows that it left", () => linesOfTheGone() > before);
  call.release();
  await until("the provider's socket is done", () => call.ended || call.abandoned);
  expect(call.abandoned).toBe(false);
}

function linesOfTheGone(): number {
  return gateway.log().split('"client_gone":true').length - 1;
}

/** Checks that no slot was lost: exactly `SLOTS` requests can run at once. */
async function everySlotIsFree(account: TestAccount): Promise<void> {
  const route: Route = { wire: "wire_a", upstream: "wire_a", stream: false };
  const requests = Array.from({ length: SLOTS }, () => newAsk(account, route));
  const answers = Promise.all(
    requests.map((request) => untilTaken(() => ask(gateway.url, request))),
  );
  const calls = await Promise.all(requests.map((request) => callOf(request.mark)));
  expectNoSlot(await ask(gateway.url, newAsk(account, route)));
  for (const call of calls) call.release();
  expect((await answers).map((answer) => answer.status)).toEqual(calls.map(() => 200));
}

function expectNoSlot(answer: HttpAnswer): void {
  expect(answer.status).toBe(429);
  expect(answer.headers["x-tm-limit-kind"]).toBe("concurrency");
  expect(at(answer.json, "error", "metadata", "limit_kind")).toBe("concurrency");
}

describe("a client that disconnects pays once what the provider reported", () => {
  test.each(ROUTES)(
    "before the first event and after any other, on $wire from $upstream, stream $stream",
    async (route) => {
      const account = await gateway.account("10");
      const { cost, pieces } = await stay(account, route);
      expect(pieces).toBeGreaterThan(route.stream ? 5 : 0);
      for (let count = 0; count < pieces; count += 1) await leaveAt(account, route, count);
      await nothingHeld(gateway, account);
      const page = { orgId: account.orgId, limit: 100 };
      const { rows } = await gateway.backend.recordStore.usagePage(page);
      expect(rows).toHaveLength(pieces + 1);
      for (const { requestId } of rows.slice(0, pieces)) {
        const record = await ended(gateway, account, requestId);
        expect(record.outcome).toBe("client_disconnected");
        expect(record.attempts).toHaveLength(1);
        expect(record.attempts[0]).toMatchObject({ basis: "reported", debitMicroUsd: cost });
      }
      expect(await debitsOf(gateway, account)).toBe(cost * BigInt(pieces + 1));
      await everySlotIsFree(account);
    },
  );
});

test("disconnected clients of a silent provider fill the slots of that model, and of no other", async () => {
  const account = await gateway.account("10");
  const route: Route = { wire: "wire_a", upstream: "wire_a", stream: false };
  const requests = Array.from({ length: SLOTS }, () => newAsk(account, route));
  const clients = requests.map(open);
  const calls = await Promise.all(requests.map((request) => callOf(request.mark)));
  const before = linesOfTheGone();
  for (const client of clients) client.sent.destroy();
  await until("all have left", () => linesOfTheGone() === before + SLOTS);
  const refused = await ask(gateway.url, newAsk(account, route));
  expectNoSlot(refused);
  expect(at(refused.json, "error", "message")).toContain(
    `${SLOTS} requests are running; ${SLOTS} of them have disconnected clients and are read to their end`,
  );
  // Reading on after the client left may take 450 s; `retry-after` reports at most 60 s.
  expect(refused.headers["retry-after"]).toBe("60");
  expect(refused.headers["x-tm-limit-scope"]).toBe("model");
  const limitsOf = async (query: string): Promise<unknown> => {
    const limits = await get(gateway.url, { key: account.key, path: `/v1/limits${query}` });
    return at(limits.json, "effective", "concurrency");
  };
  expect(await limitsOf("?model=gated/wire_a")).toEqual({
    limit: SLOTS,
    in_use: SLOTS,
    departed: SLOTS,
    bound_by: "model:gated/wire_a",
  });
  expect(await limitsOf("?model=gated/wire_b")).toMatchObject({ in_use: 0, departed: 0 });
  expect(await limitsOf("")).toMatchObject({ in_use: 0, departed: SLOTS });
  for (const other of [account, await addKey(gateway.backend, account.orgId)]) {
    await stay(other, { ...route, upstream: "wire_b" });
  }
  const { heldMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
  expect(heldMicroUsd).toBeGreaterThan(0n);
  for (const call of calls) call.release();
  await nothingHeld(gateway, account);
  await everySlotIsFree(account);
});

test("a stream that dies after its client disconnected is charged the usage it had reported", async () => {
  const account = await gateway.account("10");
  const route: Route = { wire: "wire_b", upstream: "wire_b", stream: true };
  const request = newAsk(account, route);
  simulator.script({ fault: "no_terminal", times: 1 });
  const client = open(request);
  const call = await callOf(request.mark);
  call.release(1);
  const before = linesOfTheGone();
  client.sent.destroy();
  await until("the gateway knows that it left", () => linesOfTheGone() > before);
  call.release();
  await nothingHeld(gateway, account);
  const page = { orgId: account.orgId, limit: 10 };
  const { rows } = await gateway.backend.recordStore.usagePage(page);
  const record = await ended(gateway, account, rows[0]?.requestId ?? "");
  expect(record.outcome).toBe("client_disconnected");
  expect(record.attempts).toHaveLength(1);
  expect(record.attempts[0]?.basis).toBe("partial");
  expect(record.attempts[0]?.debitMicroUsd).toBeGreaterThan(0n);
  await everySlotIsFree(account);
});

test("after all tests no call to a provider is open, and the books balance", async () => {
  expect(provider.calls.length).toBeGreaterThan(0);
  await until("no call is open", () =>
    provider.calls.every((call) => call.ended || call.abandoned),
  );
  expect(await brokenBooks(gateway)).toEqual([]);
});
