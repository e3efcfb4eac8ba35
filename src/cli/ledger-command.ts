import type { Command } from "commander";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { StuckAttempts } from "../ledger/index.ts";
import { answering, onStoredData, type Flags, UsageFault, pickTexts } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { addReopenCommand } from "./ledger-reopen-command.ts";
import { addAuditCommand } from "./ledger-audit-command.ts";
import { addRetireCommands } from "./ledger-retire-command.ts";
import { readDay } from "./read-flags.ts";
import { writeNewFile } from "./replace-file.ts";
import { withBackend } from "./with-backend.ts";

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
          // The ledger has already committed the recovered attempts, block by block. This entry in
          // the change log is about the command as a whole.
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

function addExportCommand(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("export"))
    .description("write the attempts and transfers of a day that is over, one JSON document a line")
    .requiredOption("--day <day>", "YYYY-MM-DD, UTC")
    .option("--out <file>", "a new file instead of standard output")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend) => {
          const day = readDay(String(flags["day"]), "--day");
          const { out } = pickTexts(flags);
          let lines = 0;
          const counted = async function* (): AsyncGenerator<string> {
            for await (const page of backend.dayFacts(day)) {
              lines += page.split("\n").length - 1;
              yield page;
            }
          };
          const facts = Readable.from(counted(), { highWaterMark: 1 });
          if (out === undefined) {
            if (flags["json"] === true) throw new UsageFault("--json goes with --out");
            // The pipeline waits for a slow reader, because the facts of a day do not fit into
            // memory.
            await pipeline(facts, context.stdout, { end: false });
            return { json: undefined, text: "" };
          }
          await writeNewFile(out, facts);
          const text = `${lines} lines of ${day} written to ${out}`;
          return { json: { day, lines, file: out }, text };
        }),
      ),
    );
}
