import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";

import { Client } from "pg";
import { expect, test } from "vitest";

import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import { MICRO_PER_USD, withBillingFixture } from "../../support/billing-fixture.ts";
import { until } from "../../support/books.ts";
import { listenLocally } from "../../support/local-server.ts";
import { serve, withOperatorFolder } from "../../support/operator.ts";
import type { RunningProgram } from "../../support/program.ts";
import { testOperator } from "../../support/test-operator.ts";
import { withResource } from "../../support/with-resource.ts";
import { openTransaction } from "../../support/sql.ts";

const BOUGHT = 50n * MICRO_PER_USD;
const RULE = {
  isOn: true,
  belowMicroUsd: microUsd(10n * MICRO_PER_USD),
  amountMicroUsd: microUsd(BOUGHT),
  monthMaxMicroUsd: microUsd(4n * BOUGHT),
};

/** No event arrives, so a charge is known only by its answer or by a query. */
const fixture = withBillingFixture({ delivery: () => [] });
const folder = withOperatorFolder({ url: "http://127.0.0.1:9" });
const door = withResource(openDoor, (opened) => opened.close());

/** The point at which each process is killed, in the order of the charges. */
const PLACES = ["sent", "charged", "answered"] as const;

interface Door {
  readonly url: string;
  /** The purchases whose charges have arrived here, oldest first. */
  readonly purchaseIds: readonly string[];
  /** Locks the row of the third purchase, so that the process that would credit it waits. */
  lock: Client | undefined;
  close(): Promise<void>;
}

/**
 * A proxy in front of the payment provider. It does not pass on the first charge. It passes on the
 * second, but not its answer. It answers the third when the purchase's row is locked.
 */
async function openDoor(): Promise<Door> {
  const purchaseIds: string[] = [];
  let lock: Client | undefined;
  const server: Server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readText(request);
    const isCharge = request.method === "POST" && request.url === "/v1/payment_intents";
    const purchaseId = new URLSearchParams(body).get("metadata[purchase_id]") ?? "";
    if (isCharge) purchaseIds.push(purchaseId);
    const place = isCharge ? PLACES[purchaseIds.length - 1] : undefined;
    if (place === "sent") return;
    if (place === "answered") lock = await lockPurchase(purchaseId);
    const { status, text } = await passOn(request, body);
    if (place !== "charged") response.writeHead(status, JSON_TYPE).end(text);
  };
  return {
    ...(await listenLocally(server)),
    purchaseIds,
    get lock() {
      return lock;
    },
  };
}

const JSON_TYPE = { "content-type": "application/json" };

async function passOn(
  { method = "GET", url = "/", headers }: IncomingMessage,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const names = ["authorization", "content-type", "idempotency-key"] as const;
  const kept = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  const answer = await fetch(fixture.checkout.url + url, {
    method,
    headers: Object.fromEntries(kept),
    ...(method === "POST" ? { body } : {}),
  });
  return { status: answer.status, text: await answer.text() };
}

async function lockPurchase(purchaseId: string): Promise<Client> {
  const sql = "select from purchase where purchase_id = $1 for update";
  return await openTransaction(fixture.backend, sql, [purchaseId]);
}

/** An organization with a saved card and a top-up rule that is due. */
async function orgWithRule(): Promise<OrgId> {
  const orgId = await fixture.newOrg();
  const [{ topUps }] = fixture.billings;
  if (topUps === undefined) throw new Error("automatic top-up is off");
  const { checkoutUrl } = await topUps.openCardCheckout(orgId);
  const body = new URLSearchParams({ card: "4242" });
  await fetch(`${checkoutUrl}/pay`, { method: "POST", body, redirect: "manual" });
  await topUps.read(orgId);
  await topUps.setRule(orgId, RULE, testOperator);
  return orgId;
}

function start(): Promise<RunningProgram> {
  return serve(folder, {
    DATABASE_URL: fixture.backend.connectionString,
    STRIPE_SECRET_KEY: fixture.checkout.secretKey,
    STRIPE_WEBHOOK_SECRET: fixture.checkout.webhookSecret,
    TM_STRIPE_API_URL: door.url,
  });
}

const charged = (): readonly string[] =>
  [...fixture.checkout.book.payments.values()].map((each) => String(each.metadata["purchase_id"]));

test("processes killed between decision and credit leave one charge and one credit per decision", async () => {
  const { backend } = fixture;
  const orgIds = [await orgWithRule(), await orgWithRule(), await orgWithRule()];
  const doomed = await Promise.all(PLACES.map(start));
  await until("each waits at its place, the last one for the row to credit", async () => {
    if (door.purchaseIds.length < PLACES.length || door.lock === undefined) return false;
    const waiting = await backend.query(
      `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return waiting.length > 0 && charged().length === 2;
  });
  await Promise.all(doomed.map((program) => program.end("SIGKILL")));
  await door.lock?.end();
  const [, ...made] = door.purchaseIds;
  expect(charged().toSorted()).toEqual(made.toSorted());
  for (const orgId of orgIds) {
    expect(await backend.purchaseStore.list(orgId)).toMatchObject([
      { isAutomatic: true, state: "created" },
    ]);
    expect(await fixture.balance(orgId)).toBe(0n);
  }
  // Makes the purchases due at once for the next process, instead of after half a minute.
  await backend.query("update top_up set checked_at = checked_at - interval '1 minute'");
  const next = await start();
  const balances = (): Promise<readonly bigint[]> =>
    Promise.all(orgIds.map((orgId) => fixture.balance(orgId)));
  await until("all is credited", async () => (await balances()).every((each) => each > 0n));
  await next.end("SIGTERM");
  expect(await balances()).toEqual(orgIds.map(() => BOUGHT));
  expect(charged().toSorted()).toEqual(door.purchaseIds.slice(0, 3).toSorted());
  for (const orgId of orgIds) {
    expect(await backend.purchaseStore.list(orgId)).toMatchObject([{ state: "paid" }]);
  }
  const rules = await backend.query("select is_on, paused_at from top_up_rule");
  expect(rules).toEqual(orgIds.map(() => ({ is_on: true, paused_at: null })));
  expect(await fixture.broken()).toEqual([]);
});
