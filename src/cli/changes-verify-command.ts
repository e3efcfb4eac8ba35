import { createReadStream, existsSync } from "node:fs";

import type { Command } from "commander";

import { readExportKey } from "../app/index.ts";
import { checkChain } from "../kernel/index.ts";
import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  OPTIONS,
  readConfig,
  readText,
  UsageFault,
} from "./command-context.ts";

export function addChangesVerify(changes: Command, context: CommandContext): void {
  changes
    .command("verify")
    .description(
      "prove an export: names each line that was removed, reordered or edited; then exit 1",
    )
    .argument("<file>", "the file that `changes export` wrote")
    .option(...OPTIONS.publicKey)
    .option("--data <folder>", "folder of the installation's own key (default ./data)")
    .option(...OPTIONS.config)
    .option(...OPTIONS.json)
    .action(answering(context, verify));
}

async function verify(context: CommandContext, file: string, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const publicKey = readExportKey(config, readText(flags, "public-key"));
  if (publicKey === undefined) {
    throw new UsageFault("there is no key to compare with; name its PEM file with --public-key");
  }
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file`);
  const { changes, seal, problems } = await checkChain(readLines(file), publicKey);
  const ok = problems.length === 0;
  const of = seal === undefined ? "" : `, since ${seal.since}, exported ${seal.exported_at}`;
  return {
    json: { ok, changes, seal: seal ?? null, problems },
    text: ok
      ? `ok: ${changes} changes${of}`
      : problems.map(({ line: at, problem }) => `${file} line ${at}: ${problem}`).join("\n"),
  };
}

/** Node's `readline` would also end a line at U+2028 or U+2029, which JSON texts may contain. */
async function* readLines(file: string): AsyncGenerator<string> {
  let line = "";
  for await (const piece of createReadStream(file, "utf8") as AsyncIterable<string>) {
    const [end = "", ...others] = piece.split("\n");
    line += end;
    for (const other of others) {
      yield line;
      line = other;
    }
  }
  if (line !== "") yield line;
}
