import type { Command } from "commander";

import type { AuditCheck, AuditProgress } from "../ledger/index.ts";
import { answering, onStoredData, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { addRetireCommands } from "./ledger-retire-command.ts";

/** `ledger audit`, `ledger recover`, `ledger retire`, `ledger verify-export` */
export function addLedgerCommand(program: Command, context: CommandContext): void {
  const ledger = program.command("ledger").description("check and recover the ledger");
  onStoredData(ledger.command("audit"))
    .description(
      "verify the books while the server runs: check every invariant, rebuild every account from its transfers, replay the whole journal; exit 1 when they differ",
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
    .description("close attempts that dead instances left open, each once, at its reserved amount")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ ledgerBatchStore, changeLog }, by) => {
          const instances = await ledgerBatchStore.takeOverDeadInstances();
          const recovered = await ledgerBatchStore.recoverOpenAttempts();
          // It closed them block by block: this says that it was asked for.
          const after = { attempts: recovered, instances };
          await changeLog.write(by, async (_, note) => {
            if (recovered === 0 && instances.length === 0) return;
            const what = { orgId: null, target: "open attempts", before: null, after };
            note({ action: "ledger.recover", ...what });
          });
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
  stderr.write(`replayed ${replayed} of ${entries} journal entries\n`);
}
