import { Readable } from "node:stream";

import type { CommandIo } from "../../src/cli/command-context.ts";
import { commandLine, runCli } from "../../src/cli/run-cli.ts";
import { SecretFiles } from "../../src/app/secret-files.ts";
import { CollectedText, type CommandResult } from "./program.ts";

/** Runs a command for a person who types these lines, one at each prompt, and then leaves. */
export async function runAtTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  lines: readonly string[],
): Promise<CommandResult> {
  const [stdout, stderr] = [new CollectedText(), new SeenText()];
  const typed = [...lines];
  const stdin = Object.assign(new Readable({ read: () => undefined }), { isTTY: true });
  // Every prompt ends in a colon and a space, and nothing is written after it until it is answered.
  stderr.onText = (text) => {
    if (!text.endsWith(": ")) return;
    const line = typed.shift();
    setImmediate(() => stdin.push(line === undefined ? null : `${line}\n`));
  };
  const io: CommandIo = {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdin: () => stdin,
    stdout,
    stderr: Object.assign(stderr, { isTTY: true }),
    exit: () => undefined,
  };
  const code = await runCli(args, io);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Returns all commands of the program, to be listed; none of them can run. */
export function allCommands(): ReturnType<typeof commandLine> {
  return commandLine({
    env: {},
    stdin: () => process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    exit: () => undefined,
    secrets: new SecretFiles({}),
    setExitCode: () => undefined,
  });
}

class SeenText extends CollectedText {
  onText: (text: string) => void = () => undefined;

  override _write(chunk: Buffer, encoding: string, done: () => void): void {
    super._write(chunk, encoding, done);
    this.onText(chunk.toString());
  }
}
