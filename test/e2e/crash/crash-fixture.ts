import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startSimulator, type Simulator } from "../../../src/dev/simulator/simulator.ts";
import {
  openAccount,
  PROVIDER_KEY,
  keyOrigins,
  STANDARD_MANIFESTS,
  type TestAccount,
} from "../../support/gateway.ts";
import { builtProgram } from "../../support/build-program.ts";
import { freshBackend, type FreshBackend } from "../../support/postgres.ts";
import {
  loadProcess,
  startShipped,
  type CrashProcess,
  type LoadedProcess,
  type LoadInput,
  type StartingProcess,
} from "./crash-process.ts";
import type { Order } from "./fail-points.ts";
import { openTransaction } from "../../support/sql.ts";

/** A database, a provider, and gateways that the tests start and kill. */
export interface CrashFixture {
  readonly simulator: Simulator;
  readonly backend: FreshBackend;
  /** An organization with one dollar and one key. */
  account(): Promise<TestAccount>;
  /** Starts a gateway; two that run at the same time get different names. */
  start(options?: StartOptions): StartingProcess;
  /** Returns the running gateway, or starts it. */
  up(): Promise<CrashProcess>;
  /** Kills the running gateway and starts it again. */
  restart(options?: StartOptions): Promise<CrashProcess>;
  /** Locks an organization's wallet: its batches wait until the lock is released. */
  lockWallet(account: TestAccount): Promise<HeldLock>;
  /** Runs a statement in a transaction and keeps whatever it locks. */
  lock(sql: string, values?: readonly string[]): Promise<HeldLock>;
  /** Requests that reached the provider with this mark in their text. */
  received(mark: string): readonly ReceivedCall[];
  close(): Promise<void>;
}

export interface StartOptions {
  readonly firstOrder?: Order;
  /** True for the program as it is shipped, without fail points. */
  readonly shipped?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ReceivedCall {
  /** The attempt id that the gateway sent in a header. */
  readonly attemptId: string;
}

export interface HeldLock {
  release(): Promise<void>;
}

/** `more`: manifests besides the standard ones. */
export async function openCrashFixture(more: readonly object[] = []): Promise<CrashFixture> {
  const backend = await freshBackend();
  const simulator = await startSimulator();
  const build = await builtProgram();
  const manifests = mkdtempSync(join(tmpdir(), "tokenmarket-crash-"));
  const texts = [...STANDARD_MANIFESTS, ...more].map((manifest) =>
    JSON.stringify(manifest).replaceAll("{simulator}", simulator.url),
  );
  for (const [at, text] of texts.entries())
    writeFileSync(join(manifests, `manifest-${at}.json`), text);
  const own = {
    DATABASE_URL: backend.connectionString,
    TM_PROVIDER_KEY_ORIGINS: keyOrigins(texts),
  };
  const input = (env: Readonly<Record<string, string>> = {}): Omit<LoadInput, "file"> => ({
    args: ["serve", "--manifests", manifests, ...ANY_PORTS],
    env: { ...GATEWAY_ENV, ...own, ...env },
  });
  const load = (env = {}): LoadedProcess =>
    loadProcess({ file: build.crashingFile, ...input(env) });
  const started: StartingProcess[] = [];
  /** The next process loads while the current one is tested. */
  let spare = load();
  let current: CrashProcess | undefined;
  const begin = ({ firstOrder, shipped, env }: StartOptions): StartingProcess => {
    if (shipped === true) return startShipped({ file: build.mainFile, ...input(env) });
    if (env !== undefined) return load(env).begin(firstOrder);
    const loaded = spare;
    spare = load();
    return loaded.begin(firstOrder);
  };
  const start = (options: StartOptions = {}): StartingProcess => {
    const process = begin(options);
    started.push(process);
    return process;
  };
  const restart = async (options: StartOptions = {}): Promise<CrashProcess> => {
    await kill(current);
    current = await start(options).ready;
    return current;
  };
  const lock: CrashFixture["lock"] = (sql, values = []) =>
    holdLock(backend.connectionString, sql, values);
  return {
    simulator,
    backend,
    account: () => openAccount(backend, "1.00"),
    start,
    up: async () => (current?.isRunning === true ? current : await restart()),
    restart,
    lockWallet: (account) => lock(LOCK_WALLET, [`wallet:${account.orgId}`]),
    lock,
    received: (mark) =>
      simulator
        .calls()
        .filter((call) => call.bodyText.includes(mark))
        .map((call) => ({ attemptId: String(call.headers["x-client-request-id"]) })),
    close: async () => {
      await spare.kill();
      for (const each of started) await each.ready.then(kill, () => undefined);
      await backend.close();
      await simulator.close();
      rmSync(manifests, { recursive: true });
    },
  };
}

const ANY_PORTS = ["--port", "0", "--console-port", "0", "--internal-port", "0"];

const GATEWAY_ENV: Readonly<Record<string, string>> = {
  TM_ALLOW_PRIVATE_UPSTREAMS: "1",
  TEST_PROVIDER_KEY: PROVIDER_KEY,
  LOG_LEVEL: "info",
};

async function kill(process: CrashProcess | undefined): Promise<void> {
  if (process === undefined) return;
  process.signal("SIGKILL");
  await process.ended;
}

const LOCK_WALLET = "select from account where account_id = $1 for update";

async function holdLock(
  connectionString: string,
  sql: string,
  values: readonly string[],
): Promise<HeldLock> {
  const client = await openTransaction({ connectionString }, sql, values);
  return { release: () => client.end() };
}
