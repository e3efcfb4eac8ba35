import { CompiledQuery, Kysely, Migrator, PostgresDialect, type Migration } from "kysely";
import type { Pool, PoolClient } from "pg";
import { accountsSql } from "./migrations/0001-accounts.ts";
import { ledgerTablesSql } from "./migrations/0002-ledger-tables.ts";
import { ledgerFunctionsSql } from "./migrations/0003-ledger-functions.ts";
import { settlementSql } from "./migrations/0004-settlement.ts";
import { accountRulesSql } from "./migrations/0005-account-rules.ts";
import { videoJobsSql } from "./migrations/0006-video-jobs.ts";
import { identitySql } from "./migrations/0007-identity.ts";
import { billingSql } from "./migrations/0008-billing.ts";
import { reportsSql } from "./migrations/0009-reports.ts";
import { optimizeSql } from "./migrations/0010-optimize.ts";
import { accountNoticesSql } from "./migrations/0011-account-notices.ts";
import { servedModelsSql } from "./migrations/0012-served-models.ts";
import { refusedMinutesSql } from "./migrations/0013-refused-minutes.ts";
import { usageHoldNoticesSql } from "./migrations/0014-usage-hold-notices.ts";
import { emailNormsSql } from "./migrations/0015-email-norms.ts";
import { assertNotNewer, assertUsable, readSchemaState } from "./schema-state.ts";

/** In order; a published one is never changed, a new one is added below. */
const migrations: Record<string, Migration> = {
  "0001-accounts": sqlMigration(accountsSql),
  "0002-ledger-tables": sqlMigration(ledgerTablesSql),
  "0003-ledger-functions": sqlMigration(ledgerFunctionsSql),
  "0004-settlement": sqlMigration(settlementSql),
  "0005-account-rules": sqlMigration(accountRulesSql),
  "0006-video-jobs": sqlMigration(videoJobsSql),
  "0007-identity": sqlMigration(identitySql),
  "0008-billing": sqlMigration(billingSql),
  "0009-reports": sqlMigration(reportsSql),
  "0010-optimize": sqlMigration(optimizeSql),
  "0011-account-notices": sqlMigration(accountNoticesSql),
  "0012-served-models": sqlMigration(servedModelsSql),
  "0013-refused-minutes": sqlMigration(refusedMinutesSql),
  "0014-usage-hold-notices": sqlMigration(usageHoldNoticesSql),
  "0015-email-norms": sqlMigration(emailNormsSql),
};

/** Throws unless the database has this program's schema; changes nothing. */
export async function checkSchema(pool: Pool): Promise<void> {
  assertUsable(await readSchemaState(pool, Object.keys(migrations)));
}

/** Brings the database to this program's schema; returns the names of the migrations it ran. */
export async function migrateDatabase(pool: Pool): Promise<readonly string[]> {
  assertNotNewer(await readSchemaState(pool, Object.keys(migrations)));
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: borrowed(pool) }) });
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined)
    throw new Error("the database schema cannot be updated", { cause: error });
  return (results ?? []).map((result) => result.migrationName);
}

function sqlMigration(text: string): Migration {
  return {
    up: async (db) => {
      await db.executeQuery(CompiledQuery.raw(text));
    },
  };
}

/** Kysely ends the pool it is given; this one belongs to the backend. */
function borrowed(pool: Pool): {
  connect: () => Promise<PoolClient>;
  end: () => Promise<void>;
} {
  return { connect: () => pool.connect(), end: () => Promise.resolve() };
}
