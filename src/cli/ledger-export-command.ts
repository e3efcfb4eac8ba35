import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import type { Command } from "commander";

import {
  answering,
  type Flags,
  onStoredData,
  UsageFault,
  withBackend,
  textsOf,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readDay } from "./read-instant.ts";

/** It names every customer: other users of the machine cannot read it. */
const FILE_MODE = 0o600;

/** `ledger export` */
export function addExportCommand(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("export"))
    .description("write the attempts and transfers of a day that is over, one JSON document a line")
    .requiredOption("--day <day>", "YYYY-MM-DD, UTC")
    .option("--out <file>", "a new file instead of standard output")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend) => {
          const day = readDay(String(flags["day"]), "--day");
          const { out } = textsOf(flags);
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
            // A slow reader is waited for: a day does not fit into memory.
            await pipeline(facts, context.stdout, { end: false });
            return { json: undefined, text: "" };
          }
          await pipeline(
            facts,
            createWriteStream(out, { mode: FILE_MODE, flags: "wx", flush: true }),
          );
          const text = `${lines} lines of ${day} written to ${out}`;
          return { json: { day, lines, file: out }, text };
        }),
      ),
    );
}
