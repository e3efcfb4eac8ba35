import type { Command } from "commander";

import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  OPTIONS,
  reachableHost,
  readConfig,
  UsageFault,
} from "./command-context.ts";

const ANSWER_WAIT_MS = 3_000;

/** Adds `probe`, the health check for a container image that has no shell. */
export function addProbeCommand(program: Command, context: CommandContext): void {
  program
    .command("probe")
    .description(
      "check the health of a running server on its internal port; exit 1 when it is not healthy",
    )
    .option("--ready", "check that it accepts traffic (default: that it answers)")
    .option("--internal-port <n>", "internal port (default 8082)")
    .option(...OPTIONS.config)
    .option(...OPTIONS.json)
    .action(answering(context, probe));
}

async function probe(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const { internalHost, internalPort } = readConfig(context, flags);
  if (internalPort === 0) {
    throw new UsageFault(
      "--internal-port: 0 means any free port; use the port in the server's ready line",
    );
  }
  const path = flags["ready"] === true ? "/readyz" : "/livez";
  const url = `http://${reachableHost(internalHost)}:${internalPort}${path}`;
  const { ok, status, detail } = await ask(url);
  return { json: { ok, url, status, detail }, text: `${url}: ${detail}` };
}

async function ask(url: string): Promise<{
  readonly ok: boolean;
  readonly status: number | null;
  readonly detail: string;
}> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(ANSWER_WAIT_MS),
      headers: { connection: "close" },
    });
    const { ok, status } = response;
    return { ok, status, detail: (await response.text()).trim() };
  } catch (fault) {
    const cause = (fault as { readonly cause?: { readonly code?: string } }).cause;
    const detail = `no answer (${cause?.code ?? (fault as Error).name})`;
    return { ok: false, status: null, detail };
  }
}
