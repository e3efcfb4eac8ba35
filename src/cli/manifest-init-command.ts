import type { Command } from "commander";

import { Answers } from "./ask-person.ts";
import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  readText,
  UsageFault,
} from "./command-context.ts";
import { providerHeads } from "../listing-tools/index.ts";
import { onListings, initAnswer } from "./manifest-init/init-flags.ts";
import { initNamedProvider, requireHead } from "./manifest-init/named-provider.ts";
import { initOwnEndpoint } from "./manifest-init/own-endpoint.ts";

export function addManifestInit(manifest: Command, context: CommandContext): void {
  onListings(manifest.command("init"))
    .description(
      "write the manifest of a provider, or of an endpoint of your own by asking it; exit 1 when nothing could be listed",
    )
    .option("--provider <id>", "a provider that this program knows, such as mistral or ollama")
    .option("--base-url <url>", "address of an endpoint, with its version segment")
    .option("--offline", "list what is shipped without asking the provider what it serves")
    .option("--resource <name>", "Azure OpenAI: the resource, the first part of its address")
    .option("--region <name>", "Amazon Bedrock: the region, such as us-east-1")
    .option("--deployments <pairs...>", "Azure OpenAI and Amazon Bedrock: NAME=MODEL pairs")
    .option("--api-key-env <name>", "environment variable that holds the endpoint's key")
    .option("--dialect <wire>", "list the endpoint on this wire (default: the first that answers)")
    .option("--models <globs...>", "list these models; * is any text")
    .option("--price-prompt <usd>", "USD per million prompt tokens")
    .option("--price-completion <usd>", "USD per million completion tokens")
    .option("--free", "prices of 0: the models are given away")
    .option("--context <tokens>", "context length, where the endpoint says none or more")
    .option("--tools", "the models call tools, though the endpoint does not say so")
    .option("--id <id>", "provider id (default: the kind of server)")
    .option("--name <name>", "provider name (default: the id)")
    .option("--privacy-url <url>", "privacy policy that customers are shown")
    .option("--settlement <mode>", "arrears (default) or prepaid")
    .option("--interval <interval>", "half_daily, daily, weekly or monthly (default)")
    .option("--out <file>", "file to write (default: <id>.json in the manifests folder)")
    .action(answering(context, init));
}

async function init(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const answers = new Answers(context, flags["json"] !== true);
  try {
    const chosen = await withProvider(flags, answers);
    const provider = readText(chosen, "provider");
    const local = provider === undefined ? undefined : requireHead(provider);
    if (local !== undefined && local.use !== "local") {
      return initAnswer(await initNamedProvider(context, chosen, answers));
    }
    const own = { baseUrl: local?.endpoint.base_url, id: local?.provider.id, ...chosen };
    return initAnswer(await initOwnEndpoint(context, own, answers));
  } finally {
    answers.close();
  }
}

async function withProvider(flags: Flags, answers: Answers): Promise<Flags> {
  if (flags["provider"] !== undefined || flags["baseUrl"] !== undefined) return flags;
  const ids = providerHeads().map(({ provider }) => provider.id);
  answers.tell(`Providers: ${ids.join(", ")}`);
  const named = await answers.get(undefined, {
    flag: "--provider or --base-url",
    question: "Provider, or the address of an endpoint",
    read: (text) => {
      if (text === "") throw new UsageFault("name one of them");
      return /^https?:/.test(text)
        ? { baseUrl: text }
        : { provider: requireHead(text).provider.id };
    },
  });
  answers.needAll("manifest init");
  return { ...flags, ...named };
}
