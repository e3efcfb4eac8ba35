import { mkdirSync } from "node:fs";

import type { Command } from "commander";

import { loadCatalog, renderIssue } from "../app/index.ts";
import type { Deployment } from "../catalog/index.ts";
import type { Config } from "../kernel/index.ts";
import { providerHeads } from "../listing-tools/index.ts";
import { Answers } from "./ask-person.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  OPTIONS,
  reachableHost,
  readConfig,
  readText,
  UsageFault,
} from "./command-context.ts";
import { toVerdicts } from "./conformance-run.ts";
import { askFirstRun, type FirstRunPlan } from "./first-run/ask-first-run.ts";
import {
  cheapest,
  type TriedListing,
  type TriedModel,
  tryListings,
} from "./first-run/check-listings.ts";
import { findKeys, type FoundKeys, headsWithKey } from "./first-run/find-keys.ts";
import { type ListedProvider, listProviders } from "./first-run/list-providers.ts";
import { openAccount, type OpenedAccount } from "./first-run/open-account.ts";
import {
  providerJson,
  providerLines,
  type Welcome,
  welcomeJson,
  welcomeText,
} from "./first-run/welcome.ts";
import { onListings, shellWord, toValues } from "./manifest-init/init-flags.ts";
import { requireHead } from "./manifest-init/named-provider.ts";
import { shippedManifest, toManifestPath } from "./manifest-init/write-manifest.ts";
import { serveHere } from "./serve-command.ts";
import { withBackend } from "./with-backend.ts";

export function addInitCommand(program: Command, context: CommandContext): void {
  onListings(program.command("init"))
    .description(
      "write manifests for the provider keys of the environment, check them, and make an organization with credit and a key; exit 1 when nothing could be listed",
    )
    .option(...OPTIONS.data)
    .option("--keys-file <file>", "read provider keys from this file too: NAME=value lines")
    .option("--providers <ids...>", "list these providers, whose keys are there")
    .option("--base-url <pairs...>", "other addresses of providers: ID=URL pairs")
    .option("--offline", "list what is shipped without asking providers what they serve")
    .option("--org <name>", 'name of the organization (default "First organization")')
    .option("--email <address>", "its contact address")
    .option("--credit-usd <amount>", "its credit (default 10.00), granted once")
    .option("--key-name <name>", "name of its key (default first)")
    .option("--conformance-usd <amount>", "try one model of each provider for at most this much")
    .option("--serve", "start the gateway when all is done")
    .option("--port <n>", "gateway port (default 8080)")
    .option("--console-port <n>", "with --serve: console port (default 8081)")
    .option("--internal-port <n>", "with --serve: internal port (default 8082)")
    .action(answering(context, firstRun));
}

async function firstRun(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const gatewayUrl = findGatewayUrl(config);
  const found = findKeys(context.env, readText(flags, "keys-file"));
  const added = [...found.keys].filter(([name, key]) => context.env[name] !== key);
  const secrets = context.secrets.withValues(new Map(added));
  const inner: CommandContext = { ...context, env: secrets.env, secrets };
  const baseUrls = readBaseUrls(flags);
  const plan = await planned(context, flags, found);
  mkdirSync(config.manifestsDir, { recursive: true });
  const providers = await listProviders(plan.heads, {
    io: inner,
    config,
    keys: found.keys,
    margin: plan.margin,
    baseUrls,
    isOffline: flags["offline"] === true,
    isForced: flags["force"] === true,
  });
  const first = firstListing(config, inner);
  if (!first.ok) {
    const { problem } = first;
    return {
      json: { ok: false, problem, providers: providers.map(providerJson) },
      text: [...providers.flatMap(providerLines), problem].join("\n"),
    };
  }
  const { budgetMicroUsd } = plan;
  const listings = listingsToTry(first.deployments, config, providers);
  const tried =
    budgetMicroUsd === 0n ? [] : await tryListings(inner, listings, { config, budgetMicroUsd });
  const account = await openFirstAccount(inner, flags, { plan, tried });
  const welcome: Welcome = {
    providers,
    tried,
    account,
    orgName: plan.account.orgName,
    modelId: first.deployment.modelId,
    gatewayUrl,
    isServing: plan.isServing,
    serveCommand: serveCommand(flags),
    warnings: found.warnings,
  };
  return {
    json: welcomeJson(welcome),
    text: welcomeText(welcome),
    ...(plan.isServing && { next: () => serveHere(inner, flags) }),
  };
}

async function planned(
  context: CommandContext,
  flags: Flags,
  { keys, warnings }: FoundKeys,
): Promise<FirstRunPlan> {
  // To list a provider, its key does not suffice: a shipped manifest is needed, too.
  const heads = headsWithKey(keys).filter(
    ({ provider }) => shippedManifest(provider.id) !== undefined,
  );
  if (heads.length === 0) {
    const names = providerHeads().flatMap(({ use, endpoint }) =>
      use === "import" ? (endpoint.api_key_env ?? []) : [],
    );
    throw new UsageFault(
      `init: no provider key was found; set one of ${[...new Set(names)].join(", ")}, or give --keys-file; for a server of your own: tokenmarket manifest init --base-url`,
    );
  }
  const answers = new Answers(context, flags["json"] !== true && flags["yes"] !== true);
  try {
    for (const warning of warnings) answers.tell(`warning: ${warning}`);
    return await askFirstRun(answers, flags, heads);
  } finally {
    answers.close();
  }
}

function findGatewayUrl({ gatewayUrl, host, port }: Config): string {
  if (gatewayUrl !== "") return gatewayUrl;
  if (port === 0) throw new UsageFault("--port: 0 means any free port; name the port to print");
  return `http://${reachableHost(host)}:${port}`;
}

function readBaseUrls(flags: Flags): ReadonlyMap<string, string> {
  return new Map(
    toValues(flags["baseUrl"]).map((pair) => {
      const at = pair.indexOf("=");
      const [id, url] = [pair.slice(0, Math.max(0, at)), pair.slice(at + 1)];
      if (/^https?:/.test(url)) return [requireHead(id).provider.id, url.replace(/\/+$/, "")];
      throw new UsageFault("--base-url must be ID=URL pairs, such as openai=https://eu.example/v1");
    }),
  );
}

type FirstListing =
  | {
      readonly ok: true;
      readonly deployment: Deployment;
      readonly deployments: readonly Deployment[];
    }
  | { readonly ok: false; readonly problem: string };

/** Compiles the catalog as a server would, and finds the cheapest listing that can be sold. */
function firstListing(config: Config, { env, secrets }: CommandContext): FirstListing {
  const loaded = loadCatalog({ ...config, env, fileProblems: secrets.problems, clock });
  if (!loaded.ok) {
    return { ok: false, problem: loaded.issues.map(renderIssue).join("\n") };
  }
  const { deployments } = loaded.catalog;
  const deployment = cheapest(deployments);
  if (deployment !== undefined) return { ok: true, deployment, deployments };
  const notes = loaded.notes.slice(0, NOTES_MAX).map(({ message }) => message);
  return { ok: false, problem: [NOTHING_TO_SELL, ...notes].join("\n") };
}

const NOTES_MAX = 5;
const NOTHING_TO_SELL =
  "no listing can be sold yet; compare a staged one with its provider's price list, set is_ready to true in the manifest, and run init again";

/** The cheapest listing of each provider that has a manifest, even if this run did not write it. */
function listingsToTry(
  deployments: readonly Deployment[],
  config: Config,
  providers: readonly ListedProvider[],
): readonly TriedListing[] {
  return providers.flatMap(({ result: { providerId, file } }) => {
    const own = deployments.filter((each) => each.providerId === providerId);
    const tried = file === undefined ? undefined : cheapest(own);
    if (tried === undefined) return [];
    return [{ file: toManifestPath(config, providerId), modelId: tried.modelId }];
  });
}

async function openFirstAccount(
  context: CommandContext,
  flags: Flags,
  { plan, tried }: { readonly plan: FirstRunPlan; readonly tried: readonly TriedModel[] },
): Promise<OpenedAccount> {
  return await withBackend(
    context,
    flags,
    async (backend, by) => {
      const account = await openAccount(backend, plan.account, by);
      const verdicts = tried.flatMap(({ report }) => (report ? toVerdicts(report, "run") : []));
      if (verdicts.length > 0) await backend.verdictStore.record(verdicts, by);
      return account;
    },
    "migrate",
  );
}

/** The command first exports the keys file, because a server does not read such a file. */
function serveCommand(flags: Flags): string {
  const places = ["config", "data", "manifests", "port"].flatMap((name) => {
    const value = readText(flags, name);
    return value === undefined ? [] : [`--${name}`, shellWord(value)];
  });
  const serve = ["tokenmarket", "serve", ...places].join(" ");
  const file = readText(flags, "keys-file");
  if (file === undefined) return serve;
  const path = file.includes("/") ? file : `./${file}`;
  return `(set -a; . ${shellWord(path)}; exec ${serve})`;
}
