import type { KeyObject } from "node:crypto";
import { DatabaseError, type Pool } from "pg";

import {
  assert,
  type Change,
  type ChangedBy,
  type ChangeLog,
  checkChain,
  columns,
  count,
  type ExportedChange,
  Fault,
  instantMs,
  integer,
  instant,
  inTransaction,
  liftTimeLimits,
  parseUsd,
  queryOne,
  recordChanges,
  type RecordOf,
  type Row,
  textOf,
} from "../kernel/index.ts";

export interface ReopenRequest {
  readonly reason: string;
  /**
   * The fate of attempts that were open at the point of the restore: `void` voids them at our cost;
   * `charge` charges their reserves; `kept` leaves them open, which needs `isNothingLost`.
   */
  readonly openAttempts: "void" | "charge" | "kept";
  readonly isNothingLost: boolean;
  /** The time of the restored state in milliseconds since 1970; taken from the ledger if absent. */
  readonly restoredToMs?: number;
  /** Changes that revoked or limited access and were undone by the restore. They are made again. */
  readonly closings: readonly AccessClosing[];
  /** The time from which the export of `closings` has all changes; it must be in the books. */
  readonly changesSinceMs?: number;
}

export type ReopenedBooks = RecordOf<typeof reopenedColumns>;

/** Thrown if the books could not be reopened. Nothing has then changed. */
export class ReopenFault extends Fault {}

const REFUSED = "TM409";
const WRONG = "TM400";

/**
 * Reopens the books after a restore, in one transaction, so that instances may take traffic again.
 * Rejects with `ReopenFault` if the books cannot be reopened as requested.
 */
export async function reopenBooks(
  { pool, changes }: { readonly pool: Pool; readonly changes: Pick<ChangeLog, "announce"> },
  request: ReopenRequest,
  by: ChangedBy,
): Promise<ReopenedBooks> {
  const { reason, openAttempts, isNothingLost, restoredToMs, closings } = request;
  const sinceMs = request.changesSinceMs ?? 0;
  assert(
    isNothingLost === (openAttempts === "kept"),
    "what is open is kept where nothing was lost",
  );
  try {
    const { books, recorded } = await inTransaction(pool, async (client) => {
      await liftTimeLimits(client);
      const values = [
        reason,
        openAttempts,
        isNothingLost,
        restoredToMs === undefined ? null : new Date(restoredToMs),
        JSON.stringify(closings),
      ];
      const made = reopenedColumns.read(await queryOne<Row>(client, REOPEN_SQL, values));
      if (sinceMs > made.restoredToMs) throw toFault(sinceMs, made);
      return { books: made, recorded: await recordChanges(client, by, [toChange(request, made)]) };
    });
    changes.announce(recorded);
    return books;
  } catch (fault) {
    if (!(fault instanceof DatabaseError)) throw fault;
    if (fault.code === REFUSED) {
      const next = "stop them, or wait for that time, and run this again";
      throw new ReopenFault(`the books were not reopened: ${fault.message}; ${next}`);
    }
    if (fault.code === WRONG) throw new ReopenFault(fault.message);
    throw fault;
  }
}

function toFault(sinceMs: number, { restoredToMs }: ReopenedBooks): ReopenFault {
  const next = "name one with an earlier --since, or leave it out and repeat its changes by hand";
  const [since, restoredTo] = [sinceMs, restoredToMs].map(instant);
  return new ReopenFault(
    `the books were not reopened: the change log begins at ${since}, after the restored time ${restoredTo}; ${next}`,
  );
}

function toChange({ reason, openAttempts }: ReopenRequest, books: ReopenedBooks): Change {
  const { closedAgain: again } = books;
  const after = {
    reason,
    restored_to: new Date(books.restoredToMs).toISOString(),
    open_attempts: openAttempts,
    closed_attempts: books.closedAttempts,
    ended_sessions: books.endedSessions,
    keys_closed_again: again.keysDisabled,
    caps_lowered_again: again.capsLowered,
    connections_closed_again: again.connectionsDisabled,
    holds_placed_again: again.holdsPlaced,
    top_ups_turned_off_again: again.topUpsTurnedOff,
  };
  return {
    action: "ledger.reopen",
    orgId: null,
    target: `life ${books.life}`,
    before: null,
    after,
  };
}

const reopenedColumns = columns({
  life: integer("life"),
  restoredToMs: instantMs("restored_to"),
  /** Ids from `lostFromMs` to `lostUntilMs` that the journal does not have are lost attempts. */
  lostFromMs: instantMs("lost_from"),
  lostUntilMs: instantMs("lost_until"),
  closedAttempts: count("closed_attempts"),
  /** The number of jobs that continue at their providers and that instances adopt. */
  openJobs: count("open_jobs"),
  endedSessions: count("ended_sessions"),
  closedAgain: columns({
    /** Includes keys that expire because the restore has lost their new secret. */
    keysDisabled: count("keys_disabled"),
    capsLowered: count("caps_lowered"),
    connectionsDisabled: count("connections_disabled"),
    holdsPlaced: count("holds_placed"),
    topUpsTurnedOff: count("top_ups_turned_off"),
  }),
});

const REOPEN_SQL = `
  select ${reopenedColumns.sql}
  from reopen_books($1, $2, $3, $4, $5) r cross join jsonb_to_record(r.access) as a
    (keys_disabled bigint, caps_lowered bigint, connections_disabled bigint, holds_placed bigint,
    top_ups_turned_off bigint)`;

/** A change that revoked or limited access. `id` is a key, a connection or an organization. */
export type AccessClosing =
  | { readonly kind: "key" | "connection"; readonly id: string }
  /** A key got a new secret at `at`. The old one works until `until_at`; null: it ended at once. */
  | {
      readonly kind: "key_secret";
      readonly id: string;
      readonly at: string;
      readonly until_at: string | null;
    }
  /** `cap` is in micro-dollars. */
  | {
      readonly kind: "key_cap" | "key_day_cap" | "key_week_cap" | "org_cap";
      readonly id: string;
      readonly cap: string;
    }
  /**
   * What the last rule lets automatic top-up buy, in micro-dollars; zeros if it is off. Of a removed
   * `card` it counts only if the books have that card again.
   */
  | ({ readonly kind: "topup"; readonly id: string; readonly card: string | null } & Readonly<
      Record<"below" | "amount" | "month_max", string>
    >)
  | {
      readonly kind: "hold";
      readonly id: string;
      readonly family: string;
      readonly state: string;
      readonly reason: string;
      readonly until_at: string | null;
    };

export type ChangesOutcome =
  | {
      readonly kind: "read";
      readonly closings: readonly AccessClosing[];
      readonly changes: number;
      readonly sinceMs: number;
    }
  | { readonly kind: "unreadable"; readonly problem: string };

/**
 * Reads the changes of the kinds of `AccessClosing` from an exported change log: each new secret of
 * a key, and of other subjects the last change. The result is `unreadable` if the file was edited,
 * truncated, signed with another key, or restricted to one organization or to some actions.
 */
export async function readLostChanges(text: string, publicKey: KeyObject): Promise<ChangesOutcome> {
  const lines = text.trimEnd().split("\n");
  const { problems, seal, changes } = await checkChain(lines, publicKey);
  const [wrong] = problems;
  if (wrong !== undefined) {
    return { kind: "unreadable", problem: `line ${wrong.line}: ${wrong.problem}` };
  }
  if (seal === undefined || seal.org_id !== null || seal.action_prefix !== null) {
    return { kind: "unreadable", problem: "it is a part; export without --org and --action" };
  }
  const closings = new Map<string, AccessClosing | undefined>();
  const rotations = new Map<string, string>();
  for (const line of lines.slice(0, changes)) {
    // The cast is safe: `checkChain` has proved that an export wrote this line.
    const [subject, closing] = readChange(JSON.parse(line) as ExportedChange) ?? [];
    if (subject === undefined) continue;
    if (closing?.kind === "key_secret") {
      // A key keeps one old secret: this rotation ended the one that the rotation before had kept.
      const former = rotations.get(closing.id);
      const replaced = former === undefined ? undefined : closings.get(former);
      if (former !== undefined && replaced?.kind === "key_secret") {
        closings.set(former, { ...replaced, until_at: null });
      }
      rotations.set(closing.id, subject);
    }
    closings.set(subject, closing);
  }
  const found = [...closings.values()].filter((closing) => closing !== undefined);
  return { kind: "read", closings: found, changes, sinceMs: Date.parse(seal.since) };
}

/** Undefined for actions that are not made again. `closing` is undefined if access was opened. */
function readChange({
  at,
  action,
  org_id: orgId,
  target: id,
  before,
  after,
}: ExportedChange): readonly [subject: string, closing: AccessClosing | undefined] | undefined {
  const facts = after ?? {};
  const subject = `${action} ${id}`;
  switch (action) {
    case "key.rotate": {
      const until = textOf(facts["old_works_until"]) || null;
      return [`${subject} ${at}`, { kind: "key_secret", id, at, until_at: until }];
    }
    case "key.disable":
      return [subject, { kind: "key", id }];
    case "connection.disable":
      return [subject, { kind: "connection", id }];
    case "key.cap":
    case "key.week-cap":
    case "key.day-cap":
    case "org.cap": {
      const cap = parseUsd(textOf(facts["cap_usd"]));
      if (cap === undefined || cap <= 0n) return [subject, undefined];
      return [subject, { kind: CAP_KINDS[action], id, cap: cap.toString() }];
    }
    // The books have a removed card again, so a later rule, for another card, does not count.
    case "card.remove":
    case "topup.pause":
    case "topup.rule": {
      const most = (fact: string): string =>
        String(facts["on"] === true ? (parseUsd(textOf(facts[fact])) ?? 0n) : 0n);
      const [below, amount] = [most("below_usd"), most("amount_usd")];
      const month_max = most("month_max_usd");
      const card = action === "card.remove" ? id : null;
      const of = card === null ? `topup ${id}` : subject;
      return [of, { kind: "topup", id: orgId ?? id, card, below, amount, month_max }];
    }
    // Only the state before the lift has the kind.
    case "hold.lift":
      return [`hold ${id} ${textOf(before?.["kind"])}`, undefined];
    case "hold.place": {
      const family = textOf(facts["kind"]);
      const [state, reason] = [textOf(facts["state"]), textOf(facts["reason"])];
      const until = textOf(facts["until"]) || null;
      return [`hold ${id} ${family}`, { kind: "hold", id, family, state, reason, until_at: until }];
    }
    default:
      return undefined;
  }
}

const CAP_KINDS = {
  "key.cap": "key_cap",
  "key.week-cap": "key_week_cap",
  "key.day-cap": "key_day_cap",
  "org.cap": "org_cap",
} as const;
