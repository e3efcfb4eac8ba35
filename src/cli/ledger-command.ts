import type { Command } from "commander";

import { answering, onStoredData, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { addAuditCommand } from "./ledger-audit-command.ts";
import { addExportCommand } from "./ledger-export-command.ts";
import { addRetireCommands } from "./ledger-retire-command.ts";

/** `ledger audit`, `ledger recover`, `ledger export`, `ledger retire`, `ledger verify-export` */
export function addLedgerCommand(program: Command, context: CommandContext): void {
  const ledger = program.command("ledger").description("check and recover the ledger");
  addAuditCommand(ledger, context);
  onStoredData(ledger.command("recover"))
    .description("close attempts that dead instances left open, each once, at its reserved amount")
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
  addExportCommand(ledger, context);
  addRetireCommands(ledger, context);
}
