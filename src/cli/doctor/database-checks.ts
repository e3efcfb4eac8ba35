import { countSealedBy, type ListingLoss } from "../../gateway/index.ts";
import { DATABASE_ADDRESSES, openConfiguredVault, sealedTables } from "../../app/index.ts";
import { formatUsd, instant, type SchemaState, toReason } from "../../kernel/index.ts";
import type { FlaggedListing } from "../../ledger/index.ts";
import {
  type CheckGroup,
  type DatabaseCheckGroup,
  type DoctorCheck,
  listNames,
} from "./doctor-check.ts";

const LOSS_DAYS = 7;

const FLAGGED_DAYS = 7;

/** Checks stored data. Opening the stores has shown that the database answers and is migrated. */
export const databaseChecks: DatabaseCheckGroup = async (_examined, backend) => {
  const broken = (await backend.audit()).filter((check) => check.violations > 0);
  const failed = `failed checks: ${listNames(broken.map(({ id }) => id))}`;
  return [
    schemaCheck(await backend.readSchema()),
    settingsCheck(await backend.missingSettings()),
    broken.length === 0
      ? { id: "books", level: "ok", detail: "they balance" }
      : { id: "books", level: "problem", detail: `${failed}; run \`tokenmarket ledger audit\`` },
    reportsCheck(await backend.flaggedListings(FLAGGED_DAYS)),
    ...lossCheck(await backend.listingLosses(LOSS_DAYS)),
  ];
};

/** Reports the level of the schema. Opening the stores has shown that no migration is missing. */
function schemaCheck({ databaseLevel, newer }: SchemaState): DoctorCheck {
  const detail =
    newer.length === 0
      ? "it answers, and has the schema of this version"
      : `it answers, and has level ${databaseLevel} of a newer version, which works with this one ` +
        `(${listNames(newer)})`;
  return { id: "database", level: "ok", detail };
}

/**
 * Warns about settings that sessions through a pooler lack. `synchronous_commit` is not among them,
 * because the stores refuse to open without it.
 */
function settingsCheck(missing: readonly string[]): DoctorCheck {
  const detail =
    missing.length === 0
      ? "sessions have those that holds and speed depend on"
      : `sessions through DATABASE_URL have other values of ${listNames(missing)}; run ` +
        "`tokenmarket migrate`, and let the pooler connect again (RECONNECT)";
  return { id: "database settings", level: missing.length === 0 ? "ok" : "warning", detail };
}

export function unusableDatabase(fault: unknown): DoctorCheck {
  return { id: "database", level: "problem", detail: toReason(fault) };
}

function reportsCheck(flagged: readonly FlaggedListing[]): DoctorCheck {
  const listed = flagged.map(
    ({ flag, providerId, modelId, attempts }) => `${flag} ${providerId}/${modelId} (${attempts})`,
  );
  const id = "usage reports";
  const when = `in the last ${FLAGGED_DAYS} days`;
  if (listed.length === 0) return { id, level: "ok", detail: `no impossible usage ${when}` };
  const detail = `implausible usage was not billed ${when}: ${listed.join(", ")}; ask the provider`;
  return { id, level: "problem", detail };
}

function lossCheck(losses: readonly ListingLoss[]): readonly DoctorCheck[] {
  if (losses.length === 0) return [];
  const told = losses.map(
    ({ providerId, modelId, lostMicroUsd }) =>
      `${providerId}/${modelId} lost $${formatUsd(lostMicroUsd)}`,
  );
  const detail = `in the last ${LOSS_DAYS} days ${listNames(told)}: their providers were owed more than customers paid`;
  return [{ id: "listings at a loss", level: "warning", detail }];
}

export const topUpChecks: DatabaseCheckGroup = async ({ config }, { topUpStore }) => {
  const id = "automatic top-up";
  const dueMs = await topUpStore.recoveryDueSince();
  const waits: DoctorCheck[] = [];
  if (dueMs !== undefined && config.stripeSecretKey !== "") {
    const command = `tokenmarket billing recover --since ${instant(dueMs)}`;
    const detail = `none starts until \`${command}\` ends without failures`;
    waits.push({ id, level: "warning", detail });
  }
  const paused = (await topUpStore.paused()).map(({ reason, count, oldestMs }) => {
    return { reason, count, oldest_at: instant(oldestMs) };
  });
  if (paused.length === 0) return waits;
  const listed = paused.map(
    ({ reason, count, oldest_at: oldest }) => `${count} ${reason} (the oldest since ${oldest})`,
  );
  const detail = `paused: ${listed.join(", ")}; \`tokenmarket topup list\` names the organizations`;
  return [...waits, { id, level: "warning", detail, facts: { paused } }];
};

/** Counts the stored provider keys and webhook secrets by the encryption key that sealed them. */
export const encryptionChecks: DatabaseCheckGroup = async ({ config }, backend) => {
  const { connectionStore, webhookSecrets } = backend;
  let vault: ReturnType<typeof openConfiguredVault>;
  try {
    vault = openConfiguredVault(config);
  } catch (fault) {
    return [{ id: ID, level: "problem", detail: (fault as Error).message }];
  }
  if (vault === undefined) {
    const [key] = await connectionStore.listSealed("", 1);
    const [secret] = await webhookSecrets.listSealed("", 1);
    if (key === undefined && secret === undefined) return [];
    const stored = key === undefined ? "webhook secrets" : "provider keys";
    const detail = `${stored} are stored and encryption_key (TM_ENCRYPTION_KEY) is not set`;
    return [{ id: ID, level: "problem", detail }];
  }
  return [toKeyCheck(await countSealedBy(sealedTables(backend), vault), vault.keyNames)];
};

const ID = "encryption keys";

function toKeyCheck(
  counts: ReadonlyMap<string, number>,
  [first = ""]: readonly string[],
): DoctorCheck {
  const listed = [...counts].map(([name, rows]) => `${name}: ${rows}`).join(", ");
  const found = `stored provider keys and webhook secrets by encryption key: ${listed}`;
  if ((counts.get("unknown") ?? 0) > 0) {
    const next = "add the key that the unknown ones were stored with to encryption_key";
    return { id: ID, level: "problem", detail: `${found}; ${next}` };
  }
  const total = [...counts.values()].reduce((sum, rows) => sum + rows, 0);
  if (total === counts.get(first)) return { id: ID, level: "ok", detail: found };
  const next = "run `tokenmarket connection reseal` before another key is removed";
  return { id: ID, level: "warning", detail: `${found}; ${next}` };
}

/** Checks that each PostgreSQL server on another machine proves its identity with TLS. */
export const addressChecks: CheckGroup = ({ config }) => {
  const named = DATABASE_ADDRESSES.filter(({ setting }) => config[setting] !== "");
  const unproven = named.filter(({ setting }) => !isProven(config[setting]));
  const id = "database TLS";
  if (named.length > 0 && unproven.length === 0) {
    return [{ id, level: "ok", detail: "local, or its certificate is verified" }];
  }
  return unproven.map(({ variable }): DoctorCheck => {
    const detail =
      `the server of ${variable} does not have to prove who it is; add \`sslmode=verify-full\` to it ` +
      "(and `sslrootcert=FILE` for a private authority)";
    return { id, level: "warning", detail };
  });
};

/** True for a server on this machine, or if the server's certificate and name are verified. */
function isProven(address: string): boolean {
  // A path names a socket on this machine.
  if (address.startsWith("/") || !URL.canParse(address)) return true;
  const { hostname, protocol, searchParams } = new URL(address);
  if (searchParams.get("sslmode") === "verify-full") return true;
  const host = searchParams.get("host") ?? decodeURIComponent(hostname).replace(/^\[|\]$/g, "");
  const isSocket = protocol === "socket:" || host === "" || host.startsWith("/");
  return isSocket || host === "localhost" || host === "::1" || /^127(?:\.\d+){3}$/.test(host);
}
