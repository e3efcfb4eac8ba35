import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createRecordId } from "../../../src/kernel/core/ids.ts";
import { ask, costOf, openAsk, type Ask, type HttpAnswer, type Wire } from "../../support/ask.ts";
import { brokenBooks, debitOf, debitsOf, ended, nothingHeld, until } from "../../support/books.ts";
import { PatientClock } from "../../support/clocks.ts";
import { startTestGateway, withGateway, withAccount } from "../../support/gateway.ts";
import { asAdmin, withDatabase } from "../../support/postgres.ts";
import { withProxyTo, urlThrough } from "../../support/tcp-proxy.ts";
import { expectUnavailable } from "../../support/unavailable.ts";

/** Milliseconds in which an answer must come, not counting pauses of a busy machine. */
const ANSWER_WITHIN_MS = 10_000;
const WIRES: readonly Wire[] = ["wire_a", "wire_b"];

/** Time passes only while this process waits, so that a busy machine causes no timeout. */
const clock = new PatientClock();
const database = withDatabase();
/** A superuser's connection that bypasses the proxy. */
let admin: Client;
/** The gateway's ordinary database role. */
let role: string;

beforeAll(async () => {
  admin = new Client({ connectionString: await asAdmin(database) });
  admin.on("error", () => undefined);
  await admin.connect();
  role = createRecordId("role");
  const name = new URL(database.connectionString).pathname.slice(1);
  await admin.query(`create role ${role} login password 'ordinary'`);
  await admin.query(`alter database ${name} owner to ${role}`);
});
afterAll(async () => {
  await admin.query(`reassign owned by ${role} to current_user`);
  await admin.query(`drop role ${role}`);
  await admin.end();
  clock.stop();
});

const proxy = withProxyTo(database);
const gateway = withGateway(() => {
  const url = urlThrough(proxy, database);
  url.username = role;
  url.password = "ordinary";
  return {
    settings: {
      databaseUrl: url.href,
      orgRequestsPerMinute: 10_000,
      keyRequestsPerMinute: 10_000,
    },
    // A key that was read once stays cached, however long the database is unavailable.
    keyCacheMs: 3_600_000,
  };
});
const account = withAccount(gateway, "10", { requestsPerMinute: 10_000 });

afterAll(() => proxy.set("up"));

function asked(wire: Wire, more: Partial<Ask> = {}): Ask {
  return { key: account.key, wire, model: "test/a", text: "hi", ...more };
}

interface TimedAnswer extends HttpAnswer {
  readonly tookMs: number;
}

async function timedAsk(request: Ask): Promise<TimedAnswer> {
  const startedMs = clock.monotonicMs();
  const answer = await ask(gateway.url, request);
  return { ...answer, tookMs: clock.monotonicMs() - startedMs };
}

async function servesAgain(): Promise<void> {
  await until("the gateway serves again", async () => {
    const answer = await ask(gateway.url, asked("wire_a"));
    if (answer.status !== 200) expectUnavailable(answer);
    return answer.status === 200;
  });
}

interface Trouble {
  readonly name: string;
  /** True if the trouble concerns one organization's wallet only. */
  readonly isOneWallet?: boolean;
  /** True if every refusal takes a whole time limit, so that one round is enough. */
  readonly isSlow?: boolean;
  readonly begin: () => Promise<unknown> | void;
  readonly end: () => Promise<unknown> | void;
}

const TROUBLES: readonly Trouble[] = [
  {
    name: "the database cannot be reached",
    begin: () => proxy.set("down"),
    end: () => proxy.set("up"),
  },
  {
    name: "the database does not answer",
    isSlow: true,
    begin: () => proxy.set("silent"),
    end: () => proxy.set("up"),
  },
  {
    name: "every answer of the database takes 2.5 s",
    isSlow: true,
    begin: () => proxy.set({ delayMs: 2_500 }),
    end: () => proxy.set("up"),
  },
  {
    name: "new connections to the database are accepted and never answered",
    isSlow: true,
    begin: () => {
      proxy.set("down");
      proxy.set("silent");
    },
    end: () => proxy.set("up"),
  },
  {
    name: "another session keeps the wallet locked",
    isOneWallet: true,
    begin: async () => {
      await admin.query("begin");
      const sql = "select from account where account_id = $1 for update";
      await admin.query(sql, [`wallet:${account.orgId}`]);
    },
    end: () => admin.query("rollback"),
  },
  {
    name: "the database accepts no more connections",
    begin: async () => {
      await admin.query(`alter role ${role} connection limit 0`);
      await endSessions();
    },
    end: () => admin.query(`alter role ${role} connection limit -1`),
  },
  {
    name: "the database is read-only",
    begin: async () => {
      await admin.query(`alter role ${role} set default_transaction_read_only = on`);
      await endSessions();
    },
    end: () => admin.query(`alter role ${role} reset default_transaction_read_only`),
  },
];

async function endSessions(): Promise<void> {
  const sql = "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1";
  await admin.query(sql, [role]);
}

describe("a request gets a 503 within 10 s, nothing is sent or held, and service resumes by itself", () => {
  test.each(TROUBLES)("when $name", async (trouble) => {
    await servesAgain();
    await nothingHeld(gateway, account);
    const stranger = await gateway.account("10");
    const debits = await debitsOf(gateway, account);
    const sent = gateway.simulator.counts().total;
    await trouble.begin();
    // A request of the first round may lose its connection; the second round finds it lost.
    for (let round = 0; round < (trouble.isSlow === true ? 1 : 2); round++) {
      const keys = trouble.isOneWallet === true ? [account.key] : [account.key, stranger.key];
      const requests = WIRES.flatMap((wire) => keys.map((key) => timedAsk(asked(wire, { key }))));
      for (const answer of await Promise.all(requests)) {
        expectUnavailable(answer);
        expect(answer.tookMs).toBeLessThan(ANSWER_WITHIN_MS);
      }
    }
    await trouble.end();
    await until("nothing is on its way any more", () => proxy.underWay === 0);
    await servesAgain();
    expect(gateway.simulator.counts().total).toBe(sent + 1);
    for (const each of [account, stranger]) await nothingHeld(gateway, each);
    expect(await debitsOf(gateway, stranger)).toBe(0n);
    expect(await debitsOf(gateway, account)).toBe(debits + (await lastDebit()));
    expect(await brokenBooks(gateway)).toEqual([]);
  });
});

/** The cost of the newest request of the account. */
async function lastDebit(): Promise<bigint> {
  const { rows } = await gateway.backend.recordStore.usagePage({ orgId: account.orgId, limit: 1 });
  return rows[0]?.debitMicroUsd ?? 0n;
}

test("a request is served although every answer of the database takes 150 ms", async () => {
  await servesAgain();
  await nothingHeld(gateway, account);
  proxy.set({ delayMs: 150 });
  for (const wire of WIRES) expect((await ask(gateway.url, asked(wire))).status).toBe(200);
  proxy.set("up");
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});

test("database connections that are lost silently are replaced, and the gateway serves again", async () => {
  await servesAgain();
  await nothingHeld(gateway, account);
  const sent = gateway.simulator.counts().total;
  // Opens four connections, which are enough for everything that queries the database.
  await Promise.all(Array.from({ length: 4 }, () => gateway.backend.ping()));
  proxy.lose();
  const lostAt = await databaseNow();
  for (const answer of await Promise.all(WIRES.map((wire) => timedAsk(asked(wire))))) {
    expectUnavailable(answer);
    expect(answer.tookMs).toBeLessThan(ANSWER_WITHIN_MS);
  }
  expect(gateway.simulator.counts().total).toBe(sent);
  // The instance's lease must be renewed, or the instance would soon refuse everything.
  await until("the lease is renewed", async () => {
    const sql = "select from instance_lease where lease_until > $1::timestamptz + interval '11 s'";
    return (await admin.query(sql, [lostAt])).rowCount === 1;
  });
  await servesAgain();
  // Dropping the proxy's connections ends a closing that waits on a lost connection.
  proxy.set("down");
  proxy.set("up");
  await databaseAnswers();
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});

test("a database lost after dispatch costs no answer, and causes no second debit", async () => {
  await servesAgain();
  await nothingHeld(gateway, account);
  const before = await debitsOf(gateway, account);
  const requests = [
    asked("wire_a", { stream: true, text: "lost [[fault:hold]]" }),
    asked("wire_b", { stream: true, text: "lost [[fault:hold]]" }),
    asked("wire_a", { text: "lost [[fault:hold]]" }),
  ];
  const answers = Promise.all(requests.map((request) => ask(gateway.url, request)));
  await until("all are at the provider", () => gateway.simulator.counts().open === 3);
  proxy.set("down");
  gateway.simulator.release();
  for (const [n, whole] of (await answers).entries()) {
    expect(whole.status).toBe(200);
    expect(whole.headers).toMatchObject({ "x-tm-attempts": "1", "x-tm-provider": "prov-a" });
    expect(whole.headers).not.toHaveProperty("x-tm-error-code");
    expect(whole.text).toContain("You said");
    expect(whole.text).toMatch(endOf(requests[n]));
  }
  proxy.set("up");
  let reported = 0n;
  for (const whole of await answers) {
    const record = await ended(gateway, account, whole.requestId);
    expect(record.outcome).toBe("completed");
    expect(record.attempts).toHaveLength(1);
    expect(record.attempts[0]?.basis).toBe("reported");
    expect(debitOf(record)).toBeGreaterThan(0n);
    expect(costOf(whole)).toBe(debitOf(record));
    reported += debitOf(record);
  }
  await nothingHeld(gateway, account);
  expect((await debitsOf(gateway, account)) - before).toBe(reported);
  expect(await brokenBooks(gateway)).toEqual([]);
});

test("a client that leaves while its reserve waits for the database owes nothing", async () => {
  await servesAgain();
  const before = gateway.simulator.counts().total;
  const debits = await debitsOf(gateway, account);
  proxy.set("silent");
  const sent = openAsk(gateway.url, asked("wire_a"));
  sent.on("error", () => undefined);
  await until("it waits for its reserve", async () => (await requestsInFlight()) === 1);
  sent.destroy();
  await until("the gateway knows that it left", async () => (await requestsInFlight()) === 0);
  // The interrupted reserve may have committed, in which case it is annulled.
  proxy.set("up");
  await databaseAnswers();
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
  expect(await debitsOf(gateway, account)).toBe(debits);
  expect(gateway.simulator.counts().total).toBe(before);
});

test("a gateway whose database never answers can still be closed", async () => {
  await servesAgain();
  const { databaseUrl } = gateway.config;
  const other = await startTestGateway({ settings: { databaseUrl } });
  proxy.set("silent");
  await expect(other.close()).resolves.toBeUndefined();
  proxy.set("up");
});

async function databaseNow(): Promise<string> {
  const { rows } = await admin.query<{ now: string }>("select clock_timestamp()::text as now");
  return rows[0]?.now ?? "";
}

/** A pattern for the end of a complete answer. */
function endOf(request: Ask | undefined): RegExp {
  if (request?.stream !== true) return /\}$/;
  return request.wire === "wire_a" ? /data: \[DONE\]\n\n$/ : /"message_stop"\}\n\n$/;
}

async function requestsInFlight(): Promise<number> {
  const metrics = await (await fetch(`${gateway.running.internalUrl}/metrics`)).text();
  return Number(/^tm_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
}

async function databaseAnswers(): Promise<void> {
  await until("the database answers", () =>
    gateway.backend.ping().then(
      () => true,
      () => false,
    ),
  );
}
