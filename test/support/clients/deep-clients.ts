import { isDeep } from "../depth.ts";
import { guidePackages } from "./guide.ts";
import { hasPython } from "./python.ts";

/** These packages need Node 22. The install script of the last one calls a host of its maker. */
export const OWN_FOLDER_CLIENTS = {
  openai: "7.57.0",
  "@openai/agents": "0.20.0",
  ai: "7.0.173",
  "@ai-sdk/openai": "4.0.118",
  "@ai-sdk/openai-compatible": "3.0.92",
  "@ai-sdk/anthropic": "4.0.105",
  "@openrouter/sdk": "1.3.19",
} as const;

export const PYTHON_CLIENTS: readonly string[] = ["openai==3.54.0", "anthropic==2.12.0"];

/** Returns the agents of examples/coding-agents/README.md, hundreds of megabytes each. */
export function codingAgents(): Readonly<Record<string, string>> {
  return guidePackages(["Claude Code", "opencode", "Codex"]);
}

/** Returns the clients that this run leaves out, which its end reports as untested. */
export function clientsNotRun(): readonly string[] {
  const python = PYTHON_CLIENTS.map((pin) => pin.replace("==", "@")).join(", ");
  if (isDeep) return hasPython() ? [] : [`${python} for Python: there is no Python 3.9 here`];
  return [namesOf(OWN_FOLDER_CLIENTS), `${python} for Python`, namesOf(codingAgents())];
}

function namesOf(packages: Readonly<Record<string, string>>): string {
  return Object.entries(packages)
    .map(([name, version]) => `${name}@${version}`)
    .join(", ");
}
