import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { systemClock } from "../../src/kernel/core/time.ts";
import { until } from "../support/books.ts";
import { builtProgram } from "../support/build-program.ts";
import { seedOf } from "../support/depth.ts";
import { hasPgbackrest } from "../support/pgbackrest.ts";
import { readJournal } from "./journal.ts";
import { costOf } from "./provider.ts";
import {
  beforeTheCopy,
  command,
  type CopiedDatabase,
  expectCode,
  loseTime,
  openArchiving,
  openEmbedded,
  openStory,
  payAgain,
  readyGateways,
  retireOldDay,
  type Story,
} from "./restore-story.ts";

/** Seconds that are lost; `RESTORE_SECONDS=60` is the length that the design demands. */
const LOST_SECONDS = Number(process.env["RESTORE_SECONDS"] ?? 20);
const STOPPED_WITHIN_MS = 4_000;

let story: Story;

async function expectWholeAfterRestore(
  openDatabase: (folder: string) => Promise<CopiedDatabase>,
): Promise<void> {
  const { mainFile } = await builtProgram();
  story = await openStory({ mainFile, seed: seedOf("restore") }, openDatabase);
  try {
    await loseAndReopen(story);
  } finally {
    await story.close();
  }
}

test("three gateways stop when their embedded database is restored, and reopen with balanced books", async () => {
  await expectWholeAfterRestore(openEmbedded);
}, 480_000);

test.skipIf(!hasPgbackrest)(
  "three gateways stop when pgBackRest restores their database, and reopen with balanced books",
  async () => {
    await expectWholeAfterRestore(openArchiving);
  },
  480_000,
);

/** Returns the attempts in the records of each provider that gets traffic, with their debts. */
function statements(): ReadonlyMap<string, { readonly id: string; readonly pico: bigint }[]> {
  const lines = new Map<string, { readonly id: string; readonly pico: bigint }[]>();
  for (const [id, received] of story.provider.received) {
    const provider = received.wire === "wire_b" ? "torture-b" : "torture-a";
    const own = lines.get(provider) ?? [];
    lines.set(provider, own);
    const { reported } = received;
    if (reported !== undefined) own.push({ id, pico: costOf(reported).owedPico });
  }
  return lines;
}

async function loseAndReopen({ copied, database, provider, tally }: Story): Promise<void> {
  await beforeTheCopy(story);
  await until("traffic flows", () => tally.reported.size > 50);
  const copiedAt = await copied.copy();
  const lost = await loseTime(story, LOST_SECONDS);
  const before = await readJournal(database);

  // All of the machine is lost except the backups.
  database.lose();
  await copied.restore();
  await database.restart();
  const backAtMs = systemClock.monotonicMs();
  await until("all have stopped", async () => (await readyGateways(story)) === 0);
  const stoppedAfterMs = systemClock.monotonicMs() - backAtMs;
  const sent = provider.received.size;
  expect(stoppedAfterMs).toBeLessThanOrEqual(STOPPED_WITHIN_MS);

  // Clients ask all the time, but nothing reaches a provider: every answer is a 503.
  const refused = tally.refused(/^503/);
  await sleep(3_000);
  expect(tally.refused(/^503/)).toBeGreaterThan(refused);
  expect(provider.received.size).toBe(sent);

  const reopening = ["ledger", "reopen", "--reason", "the disk", "--changes", lost.changesFile];
  const early = await command(story, ...reopening);
  expect([0, 2]).toContain(early.code);
  let reopened = early;
  await until("the leases have ended", async () => {
    if (reopened.code !== 0) reopened = await command(story, ...reopening);
    return reopened.code === 0;
  });
  expect(provider.received.size).toBe(sent);
  const books = JSON.parse(reopened.stdout) as Record<string, unknown>;
  expect(books).toMatchObject({ life: 2, closed_again: { keys: 1 }, notes: [] });
  const restoredToMs = Date.parse(String(books["restored_to"]));
  expect(Math.abs(restoredToMs - Date.parse(copiedAt))).toBeLessThan(15_000);

  // The gateways serve again by themselves.
  await until("all serve", async () => (await readyGateways(story)) === story.slots.length);
  const since = String(books["restored_to"]);
  const recovered = await expectCode(0, command(story, "billing", "recover", "--since", since));
  expect(recovered).toMatchObject({ purchases: 2, granted: 2, claims: 1, failed: [] });
  const again = await expectCode(0, command(story, "billing", "recover", "--since", since));
  expect(again).toMatchObject({ purchases: 0, granted: 0 });

  const from = ["--from", join(story.folder, "periods")];
  const putBack = await expectCode(0, command(story, "settlement", "put-back", ...from));
  expect(putBack["put_back"]).toEqual(
    expect.arrayContaining([expect.objectContaining({ lost_attempts: 1 })]),
  );
  await payAgain(story);
  expect(await retireOldDay(story)).toEqual(lost.exported);

  story.isOver = true;
  await story.clients;
  await until("nothing is open", async () => {
    const rows = await database.query<{ count: bigint }>(
      "select count(*) from hold where not annulled",
    );
    return rows[0]?.count === 0n;
  });
  await bearWhatWasLost();
  await judge(lost, before);
}

/** Runs `settlement bear-lost`, with a statement of each provider that was under traffic. */
async function bearWhatWasLost(): Promise<void> {
  for (const [provider, lines] of statements()) {
    const file = join(story.folder, `${provider}.csv`);
    const rows = lines.map(({ id, pico }) => `${id},${usd(pico)}\n`);
    writeFileSync(file, `attempt_id,cost_usd\n${rows.join("")}`);
    const of = [provider, "--statement", file];
    const found = await expectCode(0, command(story, "settlement", "bear-lost", ...of));
    expect(found["strange"]).toEqual([]);
    const verdicts = found["verdicts"] as readonly { verdict: string; lines: number }[];
    expect(verdicts.find(({ verdict }) => verdict === "borne")?.lines).toBeGreaterThan(0);
  }
}

function usd(pico: bigint): string {
  const digits = pico.toString().padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

async function judge(
  lost: Awaited<ReturnType<typeof loseTime>>,
  before: Awaited<ReturnType<typeof readJournal>>,
): Promise<void> {
  const { database, provider } = story;
  const broken = (await database.backend.audit()).filter(({ violations }) => violations > 0);
  expect(broken).toEqual([]);

  // Every purchase was granted once, and the refund was deducted once.
  expect((await database.backend.recordStore.balance(story.payer)).settledMicroUsd).toBe(
    lost.balance,
  );
  // The disabled key is disabled again.
  const { life } = story.slots[0] ?? {};
  const response = await fetch(`${life?.url}/v1/models`, {
    headers: { authorization: `Bearer ${lost.disabledKey}` },
  });
  expect([200, 401]).toContain(response.status);
  const keys = await database.query<{ is_open: boolean }>(
    "select disabled_at is null as is_open from api_key where digest = sha256($1::bytea)",
    [Buffer.from(lost.disabledKey)],
  );
  expect(keys).toEqual([{ is_open: false }]);

  // The debt that was paid in the lost time is booked as paid, once.
  const [paidOff] = await database.backend.settlementStore.balances("settled-ai");
  expect(paidOff).toMatchObject({ payableMicroUsd: 0n, accruedMicroUsd: 0n });
  const paid = await database.query<{ amount: bigint }>(
    "select amount from transfer where ref = 'bank-1'",
  );
  expect(paid).toEqual([{ amount: lost.payable }]);

  const after = await readJournal(database);
  const voidedRows = await database.query<{ id: string }>(
    "select attempt_id::text as id from attempt where outcome = 'lost_in_restore'",
  );
  const voidedIds = new Set(voidedRows.map((row) => row.id));
  // Each provider is owed the sum of its own statement: every attempt once, rounded down.
  for (const [id, lines] of statements()) {
    const [balance] = await database.backend.settlementStore.balances(id);
    const isLost = (attemptId: string): boolean =>
      !after.attempts.has(attemptId) || voidedIds.has(attemptId);
    // Where the gateway did not see the end of an answer, the provider's record is more than the
    // debt for the delivered part. Then the journal's amount counts.
    const isHeard = (attemptId: string): boolean =>
      isLost(attemptId) || after.attempts.get(attemptId)?.basis === "reported";
    const heard = lines.filter((line) => isHeard(line.id));
    const settled = await database.query<{ id: string; owed: bigint }>(SETTLED_SQL, [id]);
    const heardIds = new Set(heard.map((line) => line.id));
    const due =
      heard.reduce((sum, { pico }) => sum + pico / 1_000_000n, 0n) +
      settled.filter((row) => !heardIds.has(row.id)).reduce((sum, { owed }) => sum + owed, 0n);
    expect(balance?.accruedMicroUsd, id).toBe(due);
    expect(lines.length - heard.length, id).toBeLessThan(lines.length / 4);
  }

  // Customers pay nothing for lost attempts, even for those that had been debited.
  const lostIds = [...provider.received.keys()].filter((attemptId) => {
    const row = after.attempts.get(attemptId);
    return row === undefined && before.attempts.has(attemptId);
  });
  expect(lostIds.length).toBeGreaterThan(0);
  const moved = await database.query<{ count: bigint }>(
    "select count(*) from transfer where attempt_id = any ($1::bigint[])",
    [lostIds],
  );
  expect(moved).toEqual([{ count: 0n }]);
  const voided = await database.query<{ debit: bigint; attempts: bigint }>(
    `select coalesce(sum(debit), 0)::bigint as debit, count(*) as attempts from attempt
      where outcome = 'lost_in_restore'`,
  );
  expect(voided).toMatchObject([{ debit: 0n }]);
}

/** Each attempt's debt to the provider by the journal, in micro-dollars, rounded down. */
const SETTLED_SQL = `
  select attempt_id::text as id, div(coalesce(owed_pico, cost_pico), 1000000)::bigint as owed
  from attempt where provider_id = $1 and state = 'settled'`;
