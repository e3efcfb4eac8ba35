import { providerKeyProblem } from "../gateway/index.ts";
import { UsageFault } from "./command-context.ts";
import type { CommandContext, StandardInput } from "./command-io.ts";

/** A provider's key is never an argument: every user of the machine can read those. */
export async function readSecret(
  context: CommandContext,
  envName: string | undefined,
): Promise<string> {
  const isNamed = envName !== undefined;
  const text = isNamed ? (context.env[envName] ?? "") : await readStandardInput(context.stdin());
  const key = text.replace(/\r?\n$/, "");
  const trouble = providerKeyProblem(key);
  if (trouble === undefined) return key;
  const place = isNamed ? `the environment variable ${envName}` : "standard input";
  throw new UsageFault(`the provider key in ${place}: ${trouble}`);
}

async function readStandardInput(stdin: StandardInput): Promise<string> {
  if (stdin.isTTY === true) {
    throw new UsageFault(
      "the provider key is read from standard input: pipe it in, or name an environment variable with --provider-key-env",
    );
  }
  let text = "";
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > STANDARD_INPUT_CHARS_MAX) break;
  }
  return text;
}

const STANDARD_INPUT_CHARS_MAX = 64 * 1024;
