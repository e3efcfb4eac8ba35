import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { pino } from "pino";

import { openBackend, type Backend } from "../../src/app/open-backend.ts";
import { openGateway, type GatewayOptions } from "../../src/app/open-gateway.ts";
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
import { newFolder } from "./run-folder.ts";
import { speakStrictly } from "./strict-providers/strict-dialect.ts";
import { testOperator } from "./test-operator.ts";
import { withResource } from "./with-resource.ts";

export interface TestAccount {
  readonly orgId: OrgId;
  readonly keyId: string;
  readonly key: string;
}

export type TestGateway = Awaited<ReturnType<typeof startTestGateway>>;

export interface AccountLimits {
  readonly requestsPerMinute?: number;
  readonly keyCapUsd?: string;
  readonly orgCapUsd?: string;
}

/** Milliseconds for which keys are cached: a test that changes a key waits at most this long. */
export const TEST_KEY_CACHE_MS = 50;

export interface TestGatewayOptions {
  readonly testCheckout?: GatewayOptions["testCheckout"];
  readonly settings?: Partial<Record<SettingName, string | number | boolean>>;
  readonly env?: Readonly<Record<string, string>>;
  /** May exceed the setting's upper bound, so that a key stays known once it was read. */
  readonly keyCacheMs?: number;
  /** Default: the system's clock. If the clock has `stop`, it is stopped with the gateway. */
  readonly clock?: Clock & { stop?(): void };
  readonly wires?: GatewayOptions["wires"];
  readonly bodyPool?: GatewayOptions["bodyPool"];
  /** Manifests in place of the standard ones; `{simulator}` is replaced by the simulator's URL. */
  readonly manifests?: readonly object[];
}

/** Starts a gateway in this process: a new database, real sockets, a simulated provider. */
export async function startTestGateway(options: TestGatewayOptions = {}) {
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

async function openTestGateway(options: TestGatewayOptions, closers: (() => unknown)[]) {
  const simulator = await startSimulator({ cheats: PLAYED_CHEATS, speak: speakStrictly });
  closers.push(() => simulator.close());
  const database = options.settings?.databaseUrl === undefined ? await freshDatabase() : undefined;
  closers.push(() => database?.drop());
  const folder = newFolder("test");
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const texts = (options.manifests ?? STANDARD_MANIFESTS).map((manifest) =>
    JSON.stringify(manifest).replaceAll("{simulator}", simulator.url),
  );
  for (const [at, text] of texts.entries()) {
    writeFileSync(join(folder, `manifest-${at}.json`), text);
  }
  const address = options.settings?.databaseUrl ?? database?.connectionString ?? "";
  const { connectionString: databaseUrl, directConnectionString: databaseDirectUrl } =
    await addressesOf(String(address));
  const settings = { providerKeyOrigins: keyOrigins(texts), ...options.settings };
  const loaded = testConfig(folder, { ...settings, databaseUrl, databaseDirectUrl });
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
    /** Creates an organization with this balance in dollars, such as "25.00", and one key. */
    account: (usd: string, limits?: AccountLimits) => openAccount(backend, usd, limits),
    log: () => lines.join(""),
  };
}

/** Starts a gateway for the tests of a file or block. A function gives options known only then. */
export function withGateway(options: TestGatewayOptions | (() => TestGatewayOptions) = {}) {
  return withResource(() => startTestGateway(typeof options === "function" ? options() : options));
}

export function withAccount(gateway: TestGateway, usd: string, limits?: AccountLimits) {
  return withResource(() => gateway.account(usd, limits));
}

export function withSimulator(): Simulator {
  return withResource(() => startSimulator());
}

/** The provider key in the tests, which must never be in an answer or a log line. */
export const PROVIDER_KEY = "sk-test-provider-key-0123456789";

export function simulatorManifest(input: {
  readonly provider: string;
  readonly dialect: "wire_a" | "wire_b";
  readonly priority?: number;
  readonly baseUrl?: string;
  readonly isPrivate?: boolean;
  readonly models: readonly object[];
  readonly endpoint?: object;
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
      ...input.endpoint,
    },
    settlement: { mode: "arrears", interval: "daily" },
    models: input.models,
  };
}

/** Returns a text listing: $1 per million prompt tokens, $10 per million output tokens. */
export function textModel(id: string, more: object = {}): object {
  return {
    id,
    context_length: 200_000,
    streaming: true,
    pricing: tokenPrices({ prompt: 1, completion: 10 }),
    ...more,
  };
}

export function tokenPrices(usd: Readonly<Record<string, number | string>>): readonly object[] {
  return Object.entries(usd).map(([type, price]) => ({
    type,
    unit: "token",
    cost_usd_per_million: String(price),
  }));
}

/**
 * `test/a` has a provider on wire_a, `test/b` one on wire_b. `test/both` and `test/ba` have one on
 * each wire; wire_a comes first for `test/both`, wire_b for `test/ba`.
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

/** Returns the setting that lets every provider of these manifests use the tests' one key. */
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

export async function openAccount(
  backend: Pick<Backend, "accountStore" | "creditStore">,
  usd: string,
  limits: AccountLimits = {},
): Promise<TestAccount> {
  const wanted = { name: "test", email: "t@example.com" };
  const { orgId } = await backend.accountStore.createOrg(wanted, testOperator);
  if (dollars(usd) > 0n) await grantCredit(backend, orgId, usd);
  const { keyId, key } = await addKey(backend, orgId, {
    requestsPerMinuteCeiling: limits.requestsPerMinute ?? 300,
    caps: { month: limits.keyCapUsd === undefined ? null : dollars(limits.keyCapUsd) },
  });
  if (limits.orgCapUsd !== undefined) {
    await backend.accountStore.setOrgCap(orgId, dollars(limits.orgCapUsd), testOperator);
  }
  return { orgId, keyId, key };
}

/** Grants credit once for each organization, amount and kind: they are the grant's reference. */
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
