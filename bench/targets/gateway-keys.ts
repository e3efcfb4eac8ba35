import { pino } from "pino";
import { createVirtualKey } from "../../src/gateway/index.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { CONSOLE_KEY_REQUESTS_PER_MINUTE, microUsd } from "../../src/kernel/index.ts";
import { testOperator } from "../../test/support/test-operator.ts";

/** Full keys, by what becomes of a request that carries one. */
export interface GatewayKeys {
  readonly funded: string;
  readonly unfunded: string;
  /** A key that has the right form and is stored nowhere. */
  readonly unknown: string;
  /** Each of a funded organization of its own. */
  readonly many: readonly string[];
}

export const ORGANIZATIONS = 50;
const CREDIT = microUsd(1_000_000_000_000n);

/** Makes organizations and keys in the database of a running gateway. */
export async function makeGatewayKeys(connectionString: string): Promise<GatewayKeys> {
  const log = pino({ level: "silent" });
  const backend = openPostgresBackend({ connectionString, log });
  try {
    const many: string[] = [];
    for (let at = 1; at <= ORGANIZATIONS; at += 1) {
      many.push(await makeKey(backend, `bench-${at}`, true));
    }
    return {
      funded: await makeKey(backend, "bench", true),
      unfunded: await makeKey(backend, "bench-unfunded", false),
      unknown: createVirtualKey().raw,
      many,
    };
  } finally {
    await backend.close();
  }
}

async function makeKey(backend: PostgresBackend, name: string, isFunded: boolean): Promise<string> {
  const { accountStore, creditStore } = backend;
  const { orgId } = await accountStore.createOrg(
    { name, email: "bench@example.com" },
    testOperator,
  );
  if (isFunded) {
    await creditStore.grant(
      { orgId, amountMicroUsd: CREDIT, ref: name, isTrial: false },
      testOperator,
    );
  }
  const { raw, digest, label } = createVirtualKey();
  await accountStore.createKey(
    {
      orgId,
      name,
      origin: "console",
      digest,
      label,
      requestsPerMinuteCeiling: CONSOLE_KEY_REQUESTS_PER_MINUTE,
    },
    testOperator,
  );
  return raw;
}
