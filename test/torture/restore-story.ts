import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Pool } from "pg";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import {
  startTestCheckout,
  type TestCheckout,
} from "../../src/dev/test-checkout/start-test-checkout.ts";
import { addOrg } from "../support/add-key.ts";
import { until } from "../support/books.ts";
import { openOtherBilling } from "../support/billing-fixture.ts";
import { startArchivingPostgres } from "../support/pgbackrest.ts";
import { runOnce } from "../support/postgres.ts";
import { runCommand, type CommandResult } from "../support/program.ts";
import { withReserveBatch } from "../support/reserve-batch.ts";
import { closeUntil } from "../support/settlement-books.ts";
import { SettlementJournal } from "../support/settlement-journal.ts";
import { TortureDatabase } from "./database.ts";
import { guardAgainstOrphans } from "./guard.ts";
import { Tally } from "./tally.ts";
import { runClients, runFolder, setStage, type Stage } from "./torture.ts";
import { testOperator } from "../support/test-operator.ts";

const INSTANCES = 3;
const CLIENTS_EACH = 8;
const DAY_MS = 86_400_000;
/** Providers: in the time that the restore loses, one is paid and a day of the other retired. */
const SETTLED = "settled-ai";
const RETIRED = "retired-ai";

/** A database that can be copied, and restored from the newest copy. */
export interface CopiedDatabase {
  readonly database: TortureDatabase;
  /** Makes a copy; returns the time of the copied state. */
  copy(): Promise<string>;
  /** Puts the copy in place of the lost files, without starting the server. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** The embedded database, copied and restored by the program's own commands. */
export async function openEmbedded(folder: string): Promise<CopiedDatabase> {
  const dataDir = join(folder, "database");
  const copies = join(folder, "backups");
  const backup = (...args: readonly string[]): ReturnType<typeof expectCode> => {
    const place = ["--data", dataDir, "--json"];
    return expectCode(0, runCommand(["backup", ...args, ...place], { LOG_LEVEL: "error" }));
  };
  const database = await TortureDatabase.start(dataDir);
  return {
    database,
    copy: async () => String((await backup("create", "--to", copies))["finished_at"]),
    restore: async () => void (await backup("restore", "--from", copies)),
    close: () => database.stop(),
  };
}

/** A PostgreSQL server of its own, copied and restored by pgBackRest with the shipped files. */
export async function openArchiving(): Promise<CopiedDatabase> {
  const { server, pgbackrest, close } = await startArchivingPostgres();
  let isUp = true;
  const database = await TortureDatabase.on(async () => {
    if (!isUp) await server.start();
    isUp = true;
    return { ...server, cluster: server.data, stop: () => Promise.resolve() };
  });
  return {
    database,
    copy: () => {
      pgbackrest("backup");
      return Promise.resolve(new Date(systemClock.nowMs()).toISOString());
    },
    restore: async () => {
      await server.kill();
      isUp = false;
      pgbackrest("--type=immediate", "--target-action=promote", "restore");
    },
    close: async () => {
      await database.stop();
      await close();
    },
  };
}

/** The running system, with everything that the restored books are compared with. */
export interface Story extends Stage {
  readonly folder: string;
  readonly copied: CopiedDatabase;
  readonly database: TortureDatabase;
  readonly checkout: TestCheckout;
  readonly tally: Tally;
  readonly admin: Pool;
  readonly env: Readonly<Record<string, string>>;
  readonly payer: OrgId;
  readonly clients: Promise<unknown>;
  readonly say: (line: string) => void;
  isOver: boolean;
  close(): Promise<void>;
}

/** Starts three gateways under traffic, with accounts and a payment provider. */
export async function openStory(
  { mainFile, seed }: { readonly mainFile: string; readonly seed: number },
  openDatabase: (folder: string) => Promise<CopiedDatabase>,
): Promise<Story> {
  const folder = runFolder("restore");
  const guard = guardAgainstOrphans(folder);
  const copied = await openDatabase(folder);
  const { database } = copied;
  const databaseUrl = database.connectionString;
  const size = { instances: INSTANCES, concurrency: CLIENTS_EACH };
  const stage = await setStage(folder, database, { mainFile, seed, ...size });
  const { slots, provider } = stage;
  const checkout = await startTestCheckout({
    clock: systemClock,
    webhookUrl: () => "http://127.0.0.1:1/nobody",
    delivery: () => [],
  });
  // Lets the tests write attempts of past days, which no program may do.
  await runOnce(
    database.adminConnectionString,
    `grant set on parameter session_replication_role to ${new URL(databaseUrl).username}`,
  );
  const admin = new Pool({ connectionString: databaseUrl, max: 1 });
  admin.on("error", () => undefined);
  const orgId = await addOrg(database.backend);
  const tally = new Tally();
  const story: Story = {
    folder,
    copied,
    database,
    ...stage,
    checkout,
    tally,
    admin,
    payer: orgId,
    env: {
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: "error",
      STRIPE_SECRET_KEY: checkout.secretKey,
      TM_STRIPE_API_URL: checkout.url,
    },
    clients: Promise.resolve(),
    say: () => undefined,
    isOver: false,
    close: async () => {
      story.isOver = true;
      await Promise.all(slots.map((slot) => slot.close(10_000)));
      await admin.end();
      await checkout.close();
      await provider.close();
      await copied.close();
      rmSync(folder, { recursive: true, force: true });
      guard.dismiss();
    },
  };
  for (const slot of slots) slot.open();
  await until("all serve", () => slots.every(({ life }) => life !== undefined));
  const clients = runClients(stage, CLIENTS_EACH, { tally, isOver: () => story.isOver });
  return Object.assign(story, { clients });
}

/** Runs `tokenmarket <args>` on the scenario's database. */
export function command(story: Story, ...args: readonly string[]): Promise<CommandResult> {
  return runCommand([...args, "--data", join(story.folder, "data"), "--json"], story.env);
}

/** Returns how many gateways report that they are ready for traffic. */
export async function readyGateways({ slots }: Story): Promise<number> {
  const answers = await Promise.all(
    slots.map(({ life }) => fetch(`${life?.url}/readyz`).then(({ status }) => status === 200)),
  );
  return answers.filter((isReady) => isReady).length;
}

/** Returns a writer of attempts of past days; it writes them as the ledger would. */
async function history(story: Story): Promise<SettlementJournal> {
  const { backend } = story.database;
  const books = {
    ...backend,
    connectionString: story.database.connectionString,
    ledgerBatchStore: withReserveBatch(backend.ledgerBatchStore),
    query: async (sql: string, values: unknown[] = []) =>
      (await story.admin.query<Record<string, unknown>>(sql, values)).rows,
  };
  return await SettlementJournal.open(books);
}

export function daysAgo(days: number, time: string): string {
  return `${new Date(systemClock.nowMs() - days * DAY_MS).toISOString().slice(0, 10)}T${time}Z`;
}

/** Writes the attempts and the purchase that the copy will have. */
export async function beforeTheCopy(story: Story): Promise<void> {
  const journal = await history(story);
  await journal.write([
    { provider: RETIRED, closed: daysAgo(9, "08:00"), cost: 5_250_001n },
    { provider: RETIRED, closed: daysAgo(9, "20:00"), cost: 7_000_002n },
    { provider: SETTLED, closed: daysAgo(4, "08:00"), cost: 5_250_001n },
  ]);
  await story.admin.query(
    "update instance_lease set lease_until = now() where instance_id = 'journal'",
  );
  await buy(story, 30);
}

/** What `loseTime` did: the restored database does not have it, but its files still exist. */
export interface LostTime {
  readonly changesFile: string;
  readonly disabledKey: string;
  readonly payable: bigint;
  readonly exported: readonly string[];
  readonly balance: bigint;
}

export async function loseTime(story: Story, seconds: number): Promise<LostTime> {
  const { backend } = story.database;
  const startMs = systemClock.monotonicMs();
  // Payments: two purchases, one of them partly refunded.
  await buy(story, 20);
  const payment = await buy(story, 10);
  story.checkout.book.refund(payment, 300);
  // Access: a key that the copy also has is disabled.
  const [account] = story.accounts;
  const disabledKey = account?.keys[0] ?? "";
  const keyId = await keyIdOf(story, disabledKey);
  await backend.accountStore.editKeys("anyone", [keyId], { disable: true }, testOperator);
  const changesFile = join(story.folder, "changes.ndjson");
  await expectCode(0, command(story, "changes", "export", "--out", changesFile));
  // Settlement: one more attempt; then the period is closed, written to a file and paid.
  const journal = await history(story);
  await journal.write([{ provider: SETTLED, closed: daysAgo(4, "18:00"), cost: 2_999_999n }]);
  const payable = await settleOldDays(story);
  const exported = await retireOldDay(story);
  const leftMs = seconds * 1_000 - (systemClock.monotonicMs() - startMs);
  await sleep(Math.max(0, leftMs));
  return { changesFile, disabledKey, payable, exported, balance: 57_000_000n };
}

/** Closes both providers' periods before today; pays the first of `SETTLED`, returns its amount. */
export async function settleOldDays(story: Story): Promise<bigint> {
  const { backend } = story.database;
  const today = daysAgo(0, "00:00");
  await closeUntil(backend, today, { id: RETIRED });
  const [period] = await closeUntil(backend, today, { id: SETTLED });
  const files = join(story.folder, "periods");
  const manifests = join(story.folder, "manifests");
  await expectCode(0, command(story, "settlement", "close", "--manifests", manifests));
  await expectCode(0, command(story, "settlement", "export", "--out", files));
  await payAgain(story);
  return period?.payableMicroUsd ?? 0n;
}

/** Pays again with the same reference: a payment that is in the books is not made twice. */
export async function payAgain(story: Story): Promise<void> {
  const start = daysAgo(4, "00:00").slice(0, 10);
  const of = [SETTLED, start, "--ref", "bank-1"];
  await expectCode(0, command(story, "settlement", "pay", ...of));
}

/** Retires the oldest day; returns the hashes of the files that are written for it. */
export async function retireOldDay(story: Story): Promise<readonly string[]> {
  const out = join(story.folder, "retired");
  await expectCode(0, command(story, "ledger", "retire", "--older-than-days", "8", "--out", out));
  const day = daysAgo(9, "00:00").slice(0, 10);
  return ["csv.gz", "json"].map((ending) =>
    createHash("sha256")
      .update(readFileSync(join(out, `attempt-${day}.${ending}`)))
      .digest("hex"),
  );
}

export async function expectCode(
  code: number,
  running: Promise<CommandResult>,
): Promise<Readonly<Record<string, unknown>>> {
  const result = await running;
  if (result.code !== code)
    throw new Error(`exit ${result.code}: ${result.stderr}${result.stdout}`);
  return JSON.parse(result.stdout) as Record<string, unknown>;
}

/** Makes, pays and credits a purchase of whole dollars; returns its payment. */
async function buy(story: Story, dollars: number) {
  const { checkout, database, payer: orgId } = story;
  const { backend } = database;
  const billing = openOtherBilling({ backend, clock: systemClock }, {}, { testCheckout: checkout });
  const amountMicroUsd = microUsd(BigInt(dollars) * 1_000_000n);
  const wanted = { orgId, amountMicroUsd, email: "p@e.com" };
  const { purchase, checkoutUrl } = await billing.startPurchase(wanted, testOperator);
  const session = checkout.book.session(checkoutUrl.split("/").at(-1) ?? "");
  if (session === undefined) throw new Error("no checkout");
  const payment = checkout.book.pay(session);
  await billing.checkPurchase(orgId, purchase.purchaseId);
  await billing.close();
  return payment;
}

async function keyIdOf(story: Story, raw: string): Promise<string> {
  const digest = createHash("sha256").update(raw).digest();
  const rows = await story.database.query<{ key_id: string }>(
    "select key_id from api_key where digest = $1",
    [digest],
  );
  return rows[0]?.key_id ?? "";
}
