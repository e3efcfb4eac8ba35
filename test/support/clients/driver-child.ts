import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { agentsDriver, type AgentsModule } from "./agents-driver.ts";
import { aiSdkDriver, type AiSettings } from "./ai-sdk-driver.ts";
import type { Deed, Driver, Target } from "./driver.ts";
import { openaiDriver } from "./openai-driver.ts";
import { openrouterDriver, type OpenRouterModule } from "./openrouter-driver.ts";

/* Drives the client libraries of another folder: reads orders as JSON lines, writes outcomes. */

interface Order {
  readonly id: number;
  readonly client: string;
  readonly deed: Deed;
  readonly target: Target;
}

type OpenModel = Parameters<typeof aiSdkDriver>[1];
type LanguageModel = ReturnType<OpenModel>;
type Create = (settings: AiSettings & { name?: string }) => ((id: string) => LanguageModel) & {
  chat(id: string): LanguageModel;
};

interface Clients {
  readonly OpenAI: Parameters<typeof openaiDriver>[0];
  readonly agents: AgentsModule;
  readonly openrouter: OpenRouterModule;
  readonly ai: Parameters<typeof aiSdkDriver>[0];
  readonly createOpenAI: Create;
  readonly createOpenAICompatible: Create;
  readonly createAnthropic: Create;
}

const [folder = ""] = process.argv.slice(2);
const clients = (await import(pathToFileURL(join(folder, "clients.mjs")).href)) as Clients;
const { ai, createOpenAI, createOpenAICompatible, createAnthropic } = clients;
const market = { name: "market", supportsStructuredOutputs: true };

const drivers: Readonly<Record<string, Driver>> = {
  openai: openaiDriver(clients.OpenAI),
  agents: agentsDriver(clients.agents, clients.OpenAI),
  openrouter: openrouterDriver(clients.openrouter),
  "ai openai": aiSdkDriver(ai, (settings, id) => createOpenAI(settings).chat(id)),
  "ai compatible": aiSdkDriver(ai, (settings, id) =>
    createOpenAICompatible({ ...market, ...settings })(id),
  ),
  "ai anthropic": aiSdkDriver(ai, (settings, id) => createAnthropic(settings)(id)),
};

createInterface({ input: process.stdin }).on("line", (line) => void obey(line));

async function obey(line: string): Promise<void> {
  const { id, client, deed, target } = JSON.parse(line) as Order;
  const drive = drivers[client];
  if (drive === undefined) throw new Error(`no driver for ${client}`);
  const outcome = await drive(deed, target);
  process.stdout.write(`${JSON.stringify({ id, outcome })}\n`);
}
