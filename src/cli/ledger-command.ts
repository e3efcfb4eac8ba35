import type { Command } from "commander";

import { StuckAttempts } from "../ledger/index.ts";
import { answering, onStoredData, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { addReopenCommand } from "./ledger-reopen-command.ts";
import { addAuditCommand } from "./ledger-audit-command.ts";
import { addExportCommand } from "./ledger-export-command.ts";
import { addRetireCommands } from "./ledger-retire-command.ts";

/** `ledger audit`, `recover`, `reopen`, `export`, `retire` and `verify-export` */
export function addLedgerCommand(program: Command, context: CommandContext): void {
  const ledger = program.command("ledger").description("check and recover the ledger");
  addAuditCommand(ledger, context);
  onStoredData(ledger.command("recover"))
    .description("close attempts that dead instances left open, each once, at its reserved amount")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async ({ ledgerBatchStore, changeLog }, by) => {
          const instances = await ledgerBatchStore.takeOverDeadInstances();
          const left = new Map<string, string>();
          const recovered = await ledgerBatchStore.recoverOpenAttempts(
            new StuckAttempts((attemptId, fault) => {
              left.set(String(attemptId), fault instanceof Error ? fault.message : String(fault));
            }),
          );
          // It closed them block by block: this says that it was asked for.
          const after = { attempts: recovered, instances };
          await changeLog.write(by, async (_, note) => {
            if (recovered === 0 && instances.length === 0) return;
            const what = { orgId: null, target: "open attempts", before: null, after };
            note({ action: "ledger.recover", ...what });
          });
          return {
            json: { recovered, instances, stuck: Object.fromEntries(left) },
            text: [
              `${recovered} attempts of ${instances.length} dead instances closed`,
              ...[...left].map(([id, why]) => `attempt ${id} breaks a rule of the books: ${why}`),
              ...(left.size === 0
                ? []
                : ["run `tokenmarket ledger audit`, which says what is wrong"]),
            ].join("\n"),
            exitCode: left.size === 0 ? 0 : 1,
          };
        }),
      ),
    );
  addReopenCommand(ledger, context);
  addExportCommand(ledger, context);
  addRetireCommands(ledger, context);
}
