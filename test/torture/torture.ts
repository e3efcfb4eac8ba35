import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import { simulatorManifest, textModel, tokenPrices } from "../support/gateway.ts";
import { Cashier, helpingOf, openAccounts, type TortureAccount } from "./accounts.ts";
import { runClient, TORTURE_MODEL, type ClientSettings } from "./client.ts";
import { TortureDatabase } from "./database.ts";
import { Findings } from "./findings.ts";
import { GatewaySlot } from "./gateway-slot.ts";
import { guardAgainstOrphans } from "./guard.ts";
import { Havoc } from "./havoc.ts";
import { readJournal, type Journal } from "./journal.ts";
import { planBlows, type PlanOptions } from "./plan.ts";
import { startCountingProvider, type CountingProvider } from "./provider.ts";
import { judge, type Verdict } from "./referee.ts";
import { Random } from "../simulation/random.ts";
import { Tally } from "./tally.ts";
import { Watch } from "./watch.ts";

export interface TortureOptions extends PlanOptions {
  /** The compiled main file of the program, which `node` runs. */
  readonly mainFile: string;
  /** Decides which process is killed or paused when, what clients ask, and how providers answer. */
  readonly seed: number;
  /** Number of gateways on one database; at least 2. */
  readonly instances: number;
  /** Number of clients of each gateway, each with one call at a time. */
  readonly concurrency: number;
  /** Least seconds of load; kills go on meanwhile. 0: until the planned ones are over. */
  readonly seconds: number;
  /** At the end, kill one gateway for good; its peers close its attempts once its lease ends. */
  readonly lastKill: boolean;
  /** The load continues until this returns true; absent: it need not continue. */
  readonly isEnough?: (tally: Tally) => boolean;
  readonly say: (line: string) => void;
}

/** The observations and findings of a run. */
export interface TortureOutcome {
  readonly havoc: Havoc;
  readonly tally: Tally;
  readonly journal: Journal;
  readonly provider: CountingProvider;
  readonly findings: Findings;
  readonly watch: Watch;
  readonly verdict: Verdict;
  /** Seconds for which clients asked. */
  readonly loadSeconds: number;
  /** Milliseconds from the end of the load until no attempt was open. */
  readonly settledAfterMs: number;
  /** Number of whole answers until all kills and pauses, except the last kill, were done. */
  readonly answersBeforeTheEnd: number;
}

/** Runs the program under faults and judges the books. Ends everything that it started. */
export async function runTorture(options: TortureOptions): Promise<TortureOutcome> {
  const folder = runFolder("torture");
  const guard = guardAgainstOrphans(folder);
  const chamber = await Chamber.furnish(folder, options);
  try {
    return await chamber.torture();
  } finally {
    await chamber.clear();
    rmSync(folder, { recursive: true, force: true });
    guard.dismiss();
  }
}

/** What a run needs besides its database. */
export interface Stage {
  readonly provider: CountingProvider;
  readonly accounts: readonly TortureAccount[];
  readonly slots: readonly GatewaySlot[];
  readonly dice: Random;
}

type StageOptions = Pick<TortureOptions, "mainFile" | "seed" | "instances" | "concurrency">;

/** Opens accounts and a provider, and makes a slot for each gateway; no gateway runs yet. */
export async function setStage(
  folder: string,
  { backend, connectionString: databaseUrl }: TortureDatabase,
  { mainFile, seed, instances, concurrency }: StageOptions,
): Promise<Stage> {
  const dice = new Random(seed);
  const provider = await startCountingProvider(dice.fork());
  const accounts = await openAccounts(backend, helpingOf(instances * concurrency));
  const manifestsDir = writeManifests(folder, provider.url);
  const settings = { mainFile, folder, databaseUrl, manifestsDir };
  const slots = Array.from({ length: instances }, (_none, n) => new GatewaySlot(n + 1, settings));
  return { provider, accounts, slots, dice };
}

/** Runs `each` clients of each gateway until `isOver` returns true. */
export async function runClients(
  { slots, accounts, dice }: Stage,
  each: number,
  of: Pick<ClientSettings, "tally" | "isOver">,
): Promise<void> {
  const clients = slots.flatMap((slot) =>
    Array.from({ length: each }, () => runClient({ slot, accounts, dice: dice.fork(), ...of })),
  );
  await Promise.all(clients);
}

export function runFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tokenmarket-${name}-`));
  // If this runs as root, the database runs as another user, who must be able to enter.
  chmodSync(folder, 0o755);
  return folder;
}

const QUIET_WITHIN_MS = 60_000;
const TAKEN_OVER_WITHIN_MS = 15_000;
const CLOSED_WITHIN_MS = 30_000;
const POLL_MS = 100;

class Chamber {
  readonly #options: TortureOptions;
  readonly #database: TortureDatabase;
  readonly #stage: Stage;

  private constructor(options: TortureOptions, database: TortureDatabase, stage: Stage) {
    this.#options = options;
    this.#database = database;
    this.#stage = stage;
  }

  static async furnish(folder: string, options: TortureOptions): Promise<Chamber> {
    const database = await TortureDatabase.start(join(folder, "database"));
    return new Chamber(options, database, await setStage(folder, database, options));
  }

  async torture(): Promise<TortureOutcome> {
    const database = this.#database;
    const { provider } = this.#stage;
    const tally = new Tally();
    const findings = new Findings();
    const watch = new Watch(database, findings);
    const say = this.#progress(tally);
    const loaded = await this.#underLoad({ tally, watch, say });
    const { havoc, granted } = loaded;
    say("the load has ended");
    const settledAfterMs = await this.#quiet();
    say(`nothing is open any more after ${settledAfterMs} ms`);
    const journal = await readJournal(database);
    const { troubles } = havoc;
    const verdict = await judge(
      { database, journal, provider, tally, granted, troubles },
      findings,
    );
    this.#judgeInstances(havoc, findings);
    await this.#judgeClose(findings);
    return { ...loaded, tally, journal, provider, findings, watch, verdict, settledAfterMs };
  }

  /** Lets clients ask during the kills and pauses, until every client has its last answer. */
  async #underLoad(observers: Observers): Promise<Loaded> {
    const { tally, watch, say } = observers;
    const { concurrency, seconds, lastKill, isEnough = () => true } = this.#options;
    const database = this.#database;
    const { slots, accounts, dice } = this.#stage;
    const helping = helpingOf(slots.length * concurrency);
    const cashier = new Cashier(database.backend, { accounts, helping, dice: dice.fork() });
    const havoc = new Havoc({
      slots,
      database,
      dice: dice.fork(),
      answersBeforeABlow: Math.ceil(concurrency / 2),
      say,
    });
    const blows = planBlows(this.#options, dice.fork());
    for (const slot of slots) slot.open();
    cashier.open();
    watch.open();
    const startMs = systemClock.monotonicMs();
    let isOver = false;
    const clients = runClients(this.#stage, concurrency, { tally, isOver: () => isOver });
    let answersBeforeTheEnd = 0;
    try {
      await havoc.run(blows, seconds);
      answersBeforeTheEnd = tally.reported.size;
      if (lastKill) await havoc.killForGood();
      await havoc.everyoneServes();
      await havoc.until("the clients have met enough", () => isEnough(tally));
    } finally {
      isOver = true;
    }
    const loadSeconds = (systemClock.monotonicMs() - startMs) / 1_000;
    await Promise.all([clients, cashier.close(), watch.close()]);
    return { havoc, loadSeconds, answersBeforeTheEnd, granted: cashier.granted };
  }

  /** Ends everything that still runs, however the run went. */
  async clear(): Promise<void> {
    await Promise.all(this.#stage.slots.map((slot) => slot.close(0)));
    await this.#stage.provider.close();
    await this.#database.stop();
  }

  #progress(tally: Tally): (line: string) => void {
    const startMs = systemClock.monotonicMs();
    return (line) => {
      const seconds = Math.round((systemClock.monotonicMs() - startMs) / 1_000);
      this.#options.say(`${seconds} s, ${tally.reported.size} answers: ${line}`);
    };
  }

  /** Waits at most a minute until no attempt is open. The referee reports those that stay open. */
  async #quiet(): Promise<number> {
    const startMs = systemClock.monotonicMs();
    for (;;) {
      const rows = await this.#database.query<{ count: bigint }>(openSql);
      const waitedMs = Math.round(systemClock.monotonicMs() - startMs);
      if (rows[0]?.count === 0n || waitedMs > QUIET_WITHIN_MS) return waitedMs;
      await sleep(POLL_MS);
    }
  }

  #judgeInstances(havoc: Havoc, findings: Findings): void {
    findings.expect(LATE_TAKE_OVER);
    findings.expect(OWN_END);
    findings.expect(FAILED_START);
    for (const { how, open, closedAfterLeaseMs } of havoc.takeOvers) {
      if (closedAfterLeaseMs <= TAKEN_OVER_WITHIN_MS) continue;
      const example = `${how} with ${open} open: ${closedAfterLeaseMs} ms after its lease`;
      findings.add(LATE_TAKE_OVER, example);
    }
    for (const slot of this.#stage.slots) {
      for (const end of slot.ownEnds) findings.add(OWN_END, `gateway ${slot.number}: ${end}`);
      for (const failed of slot.failedStarts) {
        const wasAway = havoc.troubles.some(
          ({ life, startMs, endMs }) =>
            life === undefined && startMs < failed.endMs && failed.startMs < endMs,
        );
        if (!wasAway) findings.add(FAILED_START, `gateway ${slot.number}: ${failed.words}`);
      }
    }
  }

  async #judgeClose(findings: Findings): Promise<void> {
    findings.expect(BAD_CLOSE);
    const living = this.#stage.slots.filter((slot) => slot.life !== undefined);
    const codes = await Promise.all(living.map((slot) => slot.close(CLOSED_WITHIN_MS)));
    for (const code of codes) if (code !== 0) findings.add(BAD_CLOSE, `exit code ${code}`);
  }
}

interface Observers {
  readonly tally: Tally;
  readonly watch: Watch;
  readonly say: (line: string) => void;
}

type Loaded = Pick<TortureOutcome, "havoc" | "loadSeconds" | "answersBeforeTheEnd"> & {
  readonly granted: readonly string[];
};

const LATE_TAKE_OVER =
  "what a stopped gateway left open was closed within 15 s of the end of its lease";
const OWN_END = "no gateway ended by itself";
const FAILED_START = "every gateway started when the database was there";
const BAD_CLOSE = "every gateway ended well when it was asked to";

const openSql = "select count(*) from hold where not annulled";

/** A one-hour cache write costs twice the prompt price; providers are owed 3/4 of each price. */
const TERMS = {
  extra_pricing: { cache_write_1h: "2" },
  purchase_pricing: tokenPrices({ prompt: 0.75, completion: 7.5 }),
  purchase_extra: { cache_write_1h: "1.5" },
};

/** Writes two providers of one model, one for each wire, so that requests can fail over. */
function writeManifests(folder: string, providerUrl: string): string {
  const manifestsDir = join(folder, "manifests");
  mkdirSync(manifestsDir);
  for (const [priority, dialect] of (["wire_a", "wire_b"] as const).entries()) {
    const root = dialect === "wire_a" ? "a" : "b";
    const manifest = simulatorManifest({
      provider: `torture-${root}`,
      dialect,
      priority,
      baseUrl: `${providerUrl}/${root}/v1`,
      models: [textModel(TORTURE_MODEL)],
    });
    const text = JSON.stringify({ ...manifest, listing_terms: { [TORTURE_MODEL]: TERMS } });
    writeFileSync(join(manifestsDir, `${root}.json`), text);
  }
  return manifestsDir;
}
