import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { pino } from "pino";

import { openBackend, type Backend } from "../../src/app/open-backend.ts";
import {
  openGateway,
  type GatewayOptions,
  type RunningGateway,
} from "../../src/app/open-gateway.ts";
import { loadConfig } from "../../src/kernel/config/load-config.ts";
import { SecretFiles } from "../../src/app/secret-files.ts";
import type { Config, SettingName } from "../../src/kernel/config/settings.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { parseUsd, type MicroUsd } from "../../src/kernel/core/money.ts";
import { systemClock, type Clock } from "../../src/kernel/core/time.ts";
import { startSimulator, type Simulator } from "../../src/dev/simulator/simulator.ts";
import { addKey } from "./add-key.ts";
import { PLAYED_CHEATS } from "./cheats/cheats.ts";
import { addressesOf, freshDatabase } from "./postgres.ts";
import { speakStrictly } from "./strict-providers/strict-dialect.ts";
import { testOperator } from "./test-operator.ts";
import { withResource } from "./with-resource.ts";

export interface TestAccount {
  readonly orgId: OrgId;
  readonly keyId: string;
  readonly key: string;
}

export interface TestGateway {
  readonly url: string;
  readonly simulator: Simulator;
  readonly backend: Backend;
  readonly running: RunningGateway;
  readonly config: Config;
  /** An organization with this balance in dollars, such as "25.00", and one key. */
  account(usd: string, limits?: AccountLimits): Promise<TestAccount>;
  log(): string;
  close(): Promise<void>;
}

export interface AccountLimits {
  readonly requestsPerMinute?: number;
  readonly keyCapUsd?: string;
  readonly orgCapUsd?: string;
}

/** A test that changes a key or an account does not wait for the five seconds of the default. */
export const TEST_KEY_CACHE_MS = 50;

export interface TestGatewayOptions {
  /** Where credit is bought with test money. */
  readonly testCheckout?: GatewayOptions["testCheckout"];
  readonly settings?: Partial<Record<SettingName, string | number | boolean>>;
  /** Added to the test's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** May be longer than the setting allows: a key that was read once then stays known. */
  readonly keyCacheMs?: number;
  /** Default: the clock of the system. One that can be stopped is stopped with the gateway. */
  readonly clock?: Clock & { stop?(): void };
  /** Default: the program's wires. */
  readonly wires?: GatewayOptions["wires"];
  /** Default: a pool with the program's bound. */
  readonly bodyPool?: GatewayOptions["bodyPool"];
  /** Manifests instead of the standard ones; `{simulator}` is replaced by the simulator's URL. */
  readonly manifests?: readonly object[];
}

/**
 * A whole gateway in this process: a fresh database on a real PostgreSQL, real sockets, and the
 * simulated provider behind it.
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const closers: (() => unknown)[] = [() => options.clock?.stop?.()];
  const close = async (): Promise<void> => {
    for (const each of closers.splice(0).toReversed()) await each();
  };
  try {
    return { ...(await openTestGateway(options, closers)), close };
  } catch (fault) {
    await close();
    throw fault;
  }
}

/** Adds a closer for each thing that it opens. */
async function openTestGateway(
  options: TestGatewayOptions,
  closers: (() => unknown)[],
): Promise<Omit<TestGateway, "close">> {
  const simulator = await startSimulator({
    port: 0,
    host: "127.0.0.1",
    cheats: PLAYED_CHEATS,
    speak: speakStrictly,
  });
  closers.push(() => simulator.close());
  const database = options.settings?.databaseUrl === undefined ? await freshDatabase() : undefined;
  closers.push(() => database?.drop());
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-test-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const texts = (options.manifests ?? STANDARD_MANIFESTS).map((manifest) =>
    JSON.stringify(manifest).replaceAll("{simulator}", simulator.url),
  );
  for (const [at, text] of texts.entries())
    writeFileSync(join(folder, `manifest-${at}.json`), text);
  const providerKeyOrigins = keyOrigins(texts);
  const settings = { providerKeyOrigins, ...options.settings };
  const databaseUrl = options.settings?.databaseUrl ?? database?.connectionString ?? "";
  const addresses = await addressesOf(String(databaseUrl));
  const urls = {
    databaseUrl: addresses.connectionString,
    databaseDirectUrl: addresses.directConnectionString,
  };
  const loaded = testConfig(folder, { ...settings, ...urls });
  const { keyCacheMs = loaded.keyCacheMs } = options;
  const config = { ...loaded, keyCacheMs };
  const lines: string[] = [];
  const log = pino({ level: config.logLevel }, { write: (line: string) => void lines.push(line) });
  const backend = await openBackend({ config, log, schema: "migrate" });
  const secrets = new SecretFiles({
    ...process.env,
    TEST_PROVIDER_KEY: PROVIDER_KEY,
    ...options.env,
  });
  closers.push(() => backend.close());
  const running = await openGateway({
    config,
    env: secrets.env,
    secrets,
    clock: options.clock ?? systemClock,
    log,
    backend,
    ...(options.testCheckout === undefined ? {} : { testCheckout: options.testCheckout }),
    ...(options.wires === undefined ? {} : { wires: options.wires }),
    ...(options.bodyPool === undefined ? {} : { bodyPool: options.bodyPool }),
  });
  closers.push(() => running.close());
  return {
    url: running.gatewayUrl,
    simulator,
    backend,
    running,
    config,
    account: (usd, limits) => openAccount(backend, usd, limits),
    log: () => lines.join(""),
  };
}

/**
 * A gateway for the tests of the calling file or `describe`. Give options as a function if they
 * depend on what an earlier hook opened.
 */
export function withGateway(
  options: TestGatewayOptions | (() => TestGatewayOptions) = {},
): TestGateway {
  return withResource(() => startTestGateway(typeof options === "function" ? options() : options));
}

export function withAccount(
  gateway: TestGateway,
  usd: string,
  limits?: AccountLimits,
): TestAccount {
  return withResource(() => gateway.account(usd, limits));
}

export function withSimulator(): Simulator {
  return withResource(() => startSimulator({ port: 0, host: "127.0.0.1" }));
}

/** The provider key of the standard manifests, which must never reach a client or a log. */
export const PROVIDER_KEY = "sk-test-provider-key-0123456789";

export function simulatorManifest(input: {
  readonly provider: string;
  readonly dialect: "wire_a" | "wire_b";
  readonly priority?: number;
  readonly baseUrl?: string;
  readonly isPrivate?: boolean;
  readonly models: readonly object[];
}): object {
  const root = input.dialect === "wire_a" ? "a" : "b";
  return {
    manifest_version: "1",
    provider: {
      id: input.provider,
      name: input.provider,
      privacy_policy_url: "https://example.com/privacy",
      prompt_logging: "none",
      priority: input.priority ?? 0,
      ...(input.isPrivate === true ? { listing: "private" } : {}),
    },
    endpoint: {
      base_url: input.baseUrl ?? `{simulator}/${root}/v1`,
      dialect: input.dialect,
      api_key_env: "TEST_PROVIDER_KEY",
    },
    settlement: { mode: "arrears", interval: "daily" },
    models: input.models,
  };
}

/** A text listing at round prices: $1 per million prompt tokens, $10 per million output tokens. */
export function textModel(id: string, more: object = {}): object {
  return {
    id,
    context_length: 200_000,
    streaming: true,
    pricing: tokenPrices({ prompt: 1, completion: 10 }),
    ...more,
  };
}

/** Prices of a manifest, in dollars for a million tokens of each type. */
export function tokenPrices(usd: Readonly<Record<string, number | string>>): readonly object[] {
  return Object.entries(usd).map(([type, price]) => ({
    type,
    unit: "token",
    cost_usd_per_million: String(price),
  }));
}

/**
 * `test/a` speaks wire_a, `test/b` wire_b, `test/both` is served by both, wire_a first;
 * `test/ba` is served by both, wire_b first.
 */
export const STANDARD_MANIFESTS: readonly object[] = [
  simulatorManifest({
    provider: "prov-a",
    dialect: "wire_a",
    models: [textModel("test/a", { input_modalities: ["text", "image"] }), textModel("test/both")],
  }),
  simulatorManifest({
    provider: "prov-b",
    dialect: "wire_b",
    models: [textModel("test/b", { input_modalities: ["text", "image"] }), textModel("test/ba")],
  }),
  simulatorManifest({
    provider: "prov-a2",
    dialect: "wire_a",
    priority: 1,
    models: [textModel("test/ba")],
  }),
  simulatorManifest({
    provider: "prov-b2",
    dialect: "wire_b",
    priority: 1,
    models: [textModel("test/both")],
  }),
];

/** Allows every provider of these manifests to use the single key that the tests share. */
export function keyOrigins(manifests: readonly string[]): string {
  const bases = manifests.flatMap((text) => /"base_url":"([^"]+)"/.exec(text)?.[1] ?? []);
  return bases.map((base) => `TEST_PROVIDER_KEY=${new URL(base).origin}`).join(",");
}

function testConfig(
  manifestsDir: string,
  settings: Partial<Record<SettingName, string | number | boolean>>,
): Config {
  const outcome = loadConfig({
    flags: {
      port: 0,
      consolePort: 0,
      internalPort: 0,
      manifestsDir,
      allowPrivateUpstreams: true,
      logLevel: "debug",
      keyCacheMs: TEST_KEY_CACHE_MS,
      ...settings,
    },
    env: {},
  });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
  return outcome.config;
}

/** Opens an organization with this balance and one key, in any opened stores. */
export async function openAccount(
  backend: Pick<Backend, "accountStore" | "creditStore">,
  usd: string,
  limits: AccountLimits = {},
): Promise<TestAccount> {
  const org = await backend.accountStore.createOrg(
    { name: "test", email: "t@example.com" },
    testOperator,
  );
  if (dollars(usd) > 0n) await grantCredit(backend, org.orgId, usd);
  const { keyId, key } = await addKey(backend, org.orgId, {
    requestsPerMinuteCeiling: limits.requestsPerMinute ?? 300,
    caps: { month: limits.keyCapUsd === undefined ? null : dollars(limits.keyCapUsd) },
  });
  if (limits.orgCapUsd !== undefined) {
    await backend.accountStore.setOrgCap(org.orgId, dollars(limits.orgCapUsd), testOperator);
  }
  return { orgId: org.orgId, keyId, key };
}

/** Works once for each amount and kind, which are the reference of the grant. */
export async function grantCredit(
  { creditStore }: Pick<Backend, "creditStore">,
  orgId: OrgId,
  usd: string,
  more: { readonly isTrial?: boolean } = {},
): Promise<void> {
  const ref = `gift-${orgId}-${usd}-${String(more.isTrial)}`;
  await creditStore.grant({ orgId, amountMicroUsd: dollars(usd), ref, ...more }, testOperator);
}

export function dollars(text: string): MicroUsd {
  const amount = parseUsd(text);
  if (amount === undefined) throw new Error(`not a dollar amount: ${text}`);
  return amount;
}
