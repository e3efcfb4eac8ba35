import type { Backend } from "../../app/index.ts";
import { type SchemaState, formatUsd } from "../../kernel/index.ts";
import type { FlaggedListing } from "../../ledger/index.ts";
import { type DatabaseCheckGroup, type DoctorCheck, named } from "./doctor-check.ts";

const LOSS_DAYS = 7;

/** As long as a broken report is worth a word to the provider. */
const FLAGGED_DAYS = 7;

/** The database and what is in it. Opening it has shown that it answers, with this schema. */
export const databaseChecks: DatabaseCheckGroup = async (_examined, backend) => {
  const broken = (await backend.audit()).filter((check) => check.violations > 0);
  const names = named(broken.map(({ id }) => id));
  return [
    schemaCheck(await backend.readSchema()),
    settingsCheck(await backend.missingSettings()),
    broken.length === 0
      ? { id: "books", level: "ok", detail: "they balance" }
      : {
          id: "books",
          level: "problem",
          detail: `failed checks: ${names}; run \`tokenmarket ledger audit\``,
        },
    reportsCheck(await backend.flaggedListings(FLAGGED_DAYS)),
    ...lossCheck(await backend.listingLosses(LOSS_DAYS)),
  ];
};

/** Opening the stores has shown that nothing is missing. */
function schemaCheck({ databaseLevel, newer }: SchemaState): DoctorCheck {
  const detail =
    newer.length === 0
      ? "it answers, and has the schema of this version"
      : `it answers, and has level ${databaseLevel} of a newer version, which works with this one ` +
        `(${named(newer)})`;
  return { id: "database", level: "ok", detail };
}

/** A server with settings that no session can make for itself was refused when it was opened. */
function settingsCheck(missing: readonly string[]): DoctorCheck {
  const detail =
    missing.length === 0
      ? "sessions have those that holds and speed depend on"
      : `sessions through DATABASE_URL have other values of ${named(missing)}; run ` +
        "`tokenmarket migrate`, and let the pooler connect again (RECONNECT)";
  return { id: "database settings", level: missing.length === 0 ? "ok" : "warning", detail };
}

export function unusableDatabase(fault: unknown): DoctorCheck {
  const detail = fault instanceof Error ? fault.message : String(fault);
  return { id: "database", level: "problem", detail };
}

function reportsCheck(flagged: readonly FlaggedListing[]): DoctorCheck {
  const listed = flagged.map(
    ({ flag, providerId, modelId, attempts }) => `${flag} ${providerId}/${modelId} (${attempts})`,
  );
  const isEmpty = listed.length === 0;
  const detail = isEmpty
    ? `no impossible usage in the last ${FLAGGED_DAYS} days`
    : `implausible usage was not billed in the last ${FLAGGED_DAYS} days: ${listed.join(", ")}; ask the provider`;
  return { id: "usage reports", level: isEmpty ? "ok" : "problem", detail };
}

type Losses = Awaited<ReturnType<Backend["listingLosses"]>>;

function lossCheck(losses: Losses): readonly DoctorCheck[] {
  if (losses.length === 0) return [];
  const told = losses.map(
    ({ providerId, modelId, lostMicroUsd }) =>
      `${providerId}/${modelId} lost $${formatUsd(lostMicroUsd)}`,
  );
  const detail = `in the last ${LOSS_DAYS} days ${named(told)}: their providers were owed more than customers paid`;
  return [{ id: "listings at a loss", level: "warning", detail }];
}
