import { type BackupServer, onServer } from "./backup-server.ts";
import { findBackups, type ManifestReader } from "./backup-folder.ts";

/** What is known of the backups, for metrics and `doctor`. */
export interface BackupFigures {
  /** When the newest good copy ended, seconds since 1970; 0: there is none; undefined: unknown. */
  readonly lastBaseS: number | undefined;
  /** When a copy was last proved by `backup verify`; undefined: never. */
  readonly lastVerifyS: number | undefined;
  /** How old the newest archived log is; undefined: nothing is archived. */
  readonly walUnarchivedS: number | undefined;
}

export const NO_FIGURES: BackupFigures = {
  lastBaseS: undefined,
  lastVerifyS: undefined,
  walUnarchivedS: undefined,
};

/** A pool or a connection. */
interface Asking {
  query(sql: string): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The figures of the embedded server and of its folder. */
export async function readFigures(
  server: BackupServer,
  reader?: ManifestReader,
): Promise<BackupFigures> {
  const { archive } = server;
  if (archive === undefined) return NO_FIGURES;
  const found = await findBackups(archive.folder, reader);
  const ends = found.flatMap(({ manifest }) =>
    typeof manifest === "string" || !manifest.isSigned ? [] : [secondsOf(manifest.finishedAt)],
  );
  const proofs = found.flatMap(({ verifiedAt }) =>
    verifiedAt === undefined ? [] : [secondsOf(verifiedAt)],
  );
  return {
    lastBaseS: newest(ends) ?? 0,
    lastVerifyS: newest(proofs),
    walUnarchivedS: await onServer(server.adminConnectionString, readUnarchivedS),
  };
}

/**
 * How old the newest archived log is, of any PostgreSQL: no more than that can be lost. Undefined
 * where nothing is archived. While a gateway serves, its lease alone writes log all the time.
 */
export async function readUnarchivedS(database: Asking): Promise<number | undefined> {
  const { rows } = await database.query(UNARCHIVED_SQL);
  const seconds = (rows[0] as { readonly seconds?: unknown } | undefined)?.seconds;
  return typeof seconds === "number" ? seconds : undefined;
}

const UNARCHIVED_SQL = `select case when current_setting('archive_mode') <> 'off' then
    greatest(0, extract(epoch from clock_timestamp() - coalesce(last_archived_time,
      greatest(stats_reset, pg_postmaster_start_time()))))::double precision end as seconds
  from pg_stat_archiver`;

function secondsOf(instant: string): number {
  return Date.parse(instant) / 1000;
}

function newest(instants: readonly number[]): number | undefined {
  return instants.length === 0 ? undefined : Math.max(...instants);
}
