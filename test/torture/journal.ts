import type { TortureDatabase } from "./database.ts";

/** An attempt as the journal has it, read once everything has ended. */
export interface JournalAttempt {
  readonly attemptId: string;
  readonly requestId: string;
  readonly state: "open" | "settled" | "void" | "unknown_after_crash";
  readonly isCorrected: boolean;
  readonly basis: string | null;
  /** True if a void row took its id because it was unknown whether its hold had committed. */
  readonly isAnnulled: boolean;
  readonly reserve: bigint;
  readonly debit: bigint;
  readonly overrun: bigint;
  readonly prompt: bigint | null;
  readonly completion: bigint | null;
  readonly hour: bigint | null;
  readonly owedPico: bigint | null;
}

/** All attempts of the journal, by attempt id and by request id. */
export interface Journal {
  readonly attempts: ReadonlyMap<string, JournalAttempt>;
  readonly requests: ReadonlyMap<string, readonly JournalAttempt[]>;
}

export async function readJournal(database: TortureDatabase): Promise<Journal> {
  const rows = await database.query<JournalAttempt>(journalSql);
  const attempts = new Map<string, JournalAttempt>();
  const requests = new Map<string, JournalAttempt[]>();
  for (const row of rows) {
    attempts.set(row.attemptId, row);
    const siblings = requests.get(row.requestId);
    if (siblings === undefined) requests.set(row.requestId, [row]);
    else siblings.push(row);
  }
  return { attempts, requests };
}

const journalSql = `
  select attempt_id::text as "attemptId", request_id::text as "requestId", state,
    corrected_at is not null as "isCorrected", basis, instance_id = '' as "isAnnulled", reserve,
    debit, overrun, prompt + cache_write as prompt, completion, cache_write_1h as hour,
    owed_pico as "owedPico"
  from journal order by attempt_id`;
