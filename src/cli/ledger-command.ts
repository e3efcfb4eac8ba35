import type { Command } from "commander";

import type { AuditCheck, AuditProgress } from "../ledger/audit/ledger-audit.ts";
import { answering, onStoredData, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { addRetireCommands } from "./ledger-retire-command.ts";

/** `ledger audit`, `ledger recover`, `ledger retire`, `ledger verify-export` */
export function addLedgerCommand(program: Command, context: CommandContext): void {
  const ledger = program.command("ledger").description("the books");
  onStoredData(ledger.command("audit"))
    .description(
      "prove the books, online: every invariant, every account rebuilt from its transfers, the whole journal replayed; exit 1 when they do not agree",
    )
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend) => {
          const checks = await backend.audit((progress) => reportProgress(context, progress));
          const ok = checks.every((check) => check.violations === 0);
          return {
            json: { ok, checks },
            text: checks.flatMap(linesOf).join("\n"),
            exitCode: ok ? 0 : 1,
          };
        }),
      ),
    );
  onStoredData(ledger.command("recover"))
    .description("close what dead instances left open, each attempt once, at its reserve")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ ledgerBatchStore }) => {
          const instances = await ledgerBatchStore.takeOverDeadInstances();
          const recovered = await ledgerBatchStore.recoverOpenAttempts();
          return {
            json: { recovered, instances },
            text: `${recovered} attempts of ${instances.length} dead instances closed`,
          };
        }),
      ),
    );
  addRetireCommands(ledger, context);
}

function linesOf(check: AuditCheck): readonly string[] {
  const { id, title, violations, examples = [] } = check;
  if (violations === 0) return [`ok      ${id}  ${title}`];
  return [
    `BROKEN  ${id}  ${title}: ${violations}`,
    ...examples.map(({ row, found, expected }) => `        ${row}: ${found}; expected ${expected}`),
  ];
}

function reportProgress({ stderr }: CommandContext, { replayed, entries }: AuditProgress): void {
  stderr.write(`replayed ${replayed} of ${entries} lines of the journal\n`);
}
