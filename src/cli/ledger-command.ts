import type { Command } from "commander";

import { answering, onStoredData, withBackend, type Flags } from "./command-context.ts";

/** `ledger audit`, `ledger recover` */
export function addLedgerCommand(program: Command): void {
  const ledger = program.command("ledger").description("the books");
  onStoredData(ledger.command("audit"))
    .description("check every invariant of the books, online; exit 1 when one is broken")
    .action(
      answering((flags: Flags) =>
        withBackend(flags, async (backend) => {
          const checks = await backend.audit();
          const ok = checks.every((check) => check.violations === 0);
          return {
            json: { ok, checks },
            text: checks
              .map(
                ({ id, title, violations }) =>
                  `${violations === 0 ? "ok    " : "BROKEN"}  ${id}  ${title}${violations === 0 ? "" : `: ${violations}`}`,
              )
              .join("\n"),
            exitCode: ok ? 0 : 1,
          };
        }),
      ),
    );
  onStoredData(ledger.command("recover"))
    .description("close what dead instances left open, each attempt once, at its reserve")
    .action(
      answering((flags: Flags) =>
        withBackend(flags, async ({ ledgerBatchStore }) => {
          const instances = await ledgerBatchStore.takeOverDeadInstances();
          const recovered = await ledgerBatchStore.recoverOpenAttempts();
          return {
            json: { recovered, instances },
            text: `${recovered} attempts of ${instances.length} dead instances closed`,
          };
        }),
      ),
    );
}
