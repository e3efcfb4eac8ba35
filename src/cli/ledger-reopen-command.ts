import { existsSync, readFileSync, statSync } from "node:fs";
import type { Command } from "commander";

import { type Config, instant } from "../kernel/index.ts";
import { emptyLimitStore, readExportKey } from "../app/index.ts";
import {
  type ChangesOutcome,
  readLostChanges,
  type ReopenedBooks,
  type ReopenRequest,
} from "../ledger/index.ts";
import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  pickTexts,
  readConfig,
  readInstant,
  readText,
  UsageFault,
} from "./command-context.ts";
import { withBackend } from "./with-backend.ts";

const CHANGES_BYTES_MAX = 256 * 1024 * 1024;
const REASON_CHARS_MAX = 1_000;

export function addReopenCommand(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("reopen"))
    .description(
      "begin a new life of the books after the database was restored to an earlier time; refused while an instance holds a lease",
    )
    .requiredOption("--reason <text>", "what happened; it is kept")
    .option(
      "--open-attempts <how>",
      "what was open then: void (default, at our cost) or charge the reserves",
    )
    .option(
      "--changes <file>",
      "exported change log: keys, caps, connections, holds and automatic top-ups that were closed in the lost time are closed again",
    )
    .option("--public-key <file>", "PEM file of the key that signed it (default this one's own)")
    .option("--nothing-lost", "a standby that had every commit was promoted: nothing is closed")
    .option(
      "--restored-to <instant>",
      "the newest time that the books have (default as the books show it)",
    )
    .action(answering(context, reopen));
}

async function reopen(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const changes = await readChanges(context, flags);
  const request = readRequest(flags, changes);
  return await withBackend(context, flags, async (backend, by, { config }) => {
    const books = await backend.reopenBooks(request, by);
    const limits = request.isNothingLost ? {} : await emptied(config);
    const notes = [
      ...(limits.problem === undefined ? [] : [limits.problem]),
      ...(request.isNothingLost || changes !== undefined ? [] : [NO_CHANGES]),
    ];
    return {
      json: {
        ...booksJson(books),
        changes_read: changes?.changes ?? null,
        limit_keys_removed: limits.removed ?? null,
        notes,
      },
      text: booksText(books, notes),
      exitCode: limits.problem === undefined ? 0 : 1,
    };
  });
}

const NO_CHANGES =
  "without --changes, keys, caps, connections, holds and automatic top-ups that were closed in the lost time are open again";

function readRequest(flags: Flags, changes: LostChanges | undefined): ReopenRequest {
  const reason = String(flags["reason"]).trim();
  if (reason === "" || reason.length > REASON_CHARS_MAX) {
    throw new UsageFault(`--reason must say in 1 to ${REASON_CHARS_MAX} characters what happened`);
  }
  const open = flags["openAttempts"];
  if (open !== undefined && open !== "void" && open !== "charge") {
    throw new UsageFault("--open-attempts must be void or charge");
  }
  const { restoredTo } = pickTexts(flags);
  if (flags["nothingLost"] === true) {
    const others = [open, flags["changes"], restoredTo];
    if (others.some((other) => other !== undefined)) {
      throw new UsageFault(
        "--nothing-lost goes with none of --open-attempts, --changes and --restored-to",
      );
    }
    return { reason, openAttempts: "kept", isNothingLost: true, closings: [] };
  }
  return {
    reason,
    openAttempts: open ?? "void",
    isNothingLost: false,
    closings: changes?.closings ?? [],
    ...(changes !== undefined && { changesSinceMs: changes.sinceMs }),
    ...(restoredTo !== undefined && { restoredToMs: readInstant(restoredTo, "--restored-to") }),
  };
}

type LostChanges = Extract<ChangesOutcome, { readonly kind: "read" }>;

async function readChanges(
  context: CommandContext,
  flags: Flags,
): Promise<LostChanges | undefined> {
  const file = pickTexts(flags)["changes"];
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file; check --changes`);
  if (statSync(file).size > CHANGES_BYTES_MAX) {
    throw new UsageFault(
      `${file} is too large; export the changes --since a time shortly before the restored one`,
    );
  }
  const key = readExportKey(readConfig(context, flags), readText(flags, "public-key"));
  if (key === undefined) {
    throw new UsageFault("there is no key to check --changes with; name it with --public-key");
  }
  const outcome = await readLostChanges(readFileSync(file, "utf8"), key);
  if (outcome.kind === "unreadable") throw new UsageFault(`${file}: ${outcome.problem}`);
  return outcome;
}

/** Empties the shared limit store. A failure is only reported: the ledger is reopened already. */
async function emptied(
  config: Config,
): Promise<{ readonly removed?: number | undefined; readonly problem?: string }> {
  try {
    return { removed: await emptyLimitStore(config) };
  } catch {
    return {
      problem:
        "the limit store did not answer and was not emptied: remove its keys that begin with tm:",
    };
  }
}

function booksJson(books: ReopenedBooks): object {
  const { closedAgain } = books;
  return {
    life: books.life,
    restored_to: instant(books.restoredToMs),
    lost_from: instant(books.lostFromMs),
    lost_until: instant(books.lostUntilMs),
    closed_attempts: books.closedAttempts,
    open_jobs: books.openJobs,
    ended_sessions: books.endedSessions,
    closed_again: {
      keys: closedAgain.keysDisabled,
      caps: closedAgain.capsLowered,
      connections: closedAgain.connectionsDisabled,
      holds: closedAgain.holdsPlaced,
      top_ups: closedAgain.topUpsTurnedOff,
    },
  };
}

function booksText(books: ReopenedBooks, notes: readonly string[]): string {
  const { closedAgain: again } = books;
  return [
    `life ${books.life} of the books begins; they were restored to ${instant(books.restoredToMs)}`,
    `${books.closedAttempts} open attempts closed, ${books.openJobs} jobs at providers continue`,
    `${books.endedSessions} console sessions ended`,
    `closed again: ${again.keysDisabled} keys, ${again.capsLowered} caps, ${again.connectionsDisabled} connections, ${again.holdsPlaced} holds, ${again.topUpsTurnedOff} automatic top-ups`,
    ...notes,
    ...NEXT_STEPS.map((step) => `next: ${step}`),
  ].join("\n");
}

const NEXT_STEPS = [
  "tokenmarket billing recover --since <restored_to>; no automatic top-up starts before that",
  "tokenmarket settlement put-back --from <folder of settlement export --out>",
  "tokenmarket settlement bear-lost <provider_id> --statement <file>, for each provider",
  "tokenmarket ledger audit",
];
