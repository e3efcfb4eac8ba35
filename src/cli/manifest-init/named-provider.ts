import type { Manifest } from "../../catalog/index.ts";
import {
  findHead,
  type ProviderHead,
  providerHeads,
  deploymentListing,
  deploymentTerms,
} from "../../listing-tools/index.ts";
import type { Answers } from "../ask-person.ts";
import {
  type CommandContext,
  type Flags,
  readConfig,
  readText,
  UsageFault,
} from "../command-context.ts";
import { readSettlement } from "./ask-operator.ts";
import { listHosted } from "./hosted-provider.ts";
import {
  type InitResult,
  joinValues,
  type ModelNote,
  readMargin,
  splitWords,
  toValues,
} from "./init-flags.ts";
import { chooseFile, shippedListings, shippedManifest } from "./write-manifest.ts";

/** Finds the known provider or self-hosted server with this ID; else throws a `UsageFault`. */
export function requireHead(id: string): ProviderHead {
  const head = findHead(id);
  if (head !== undefined) return head;
  const ids = providerHeads().map(({ provider }) => provider.id);
  throw new UsageFault(`--provider: ${id} is not one of ${ids.join(", ")}; or give --base-url`);
}

/** Writes a manifest for a provider that this program knows, with shipped listings and prices. */
export async function initNamedProvider(
  io: CommandContext,
  flags: Flags,
  answers: Answers,
): Promise<InitResult> {
  const config = readConfig(io, flags);
  const head = requireHead(String(flags["provider"]));
  const file = chooseFile(config, flags, head.provider.id);
  // If the operator names the deployments, the provider's model list does not contain them, so the
  // provider is not asked for the list.
  const isNamed = head.use === "init";
  const { manifest, notes } = isNamed
    ? await askDeployments(head, flags, answers)
    : { manifest: findShipped(head), notes: [] };
  const placed = placedManifest(manifest, flags);
  const globs = isNamed ? toValues(flags["models"]) : await askGlobs(answers, flags, placed);
  answers.needAll("manifest init");
  const key = flags["offline"] === true || isNamed ? undefined : findKey(io, placed);
  const margin = readMargin(flags);
  const listed = await listHosted(io, { config, manifest: placed, key, file, globs, margin });
  return listed.file === undefined ? listed : { ...listed, notes: [...notes, ...listed.notes] };
}

/** The provider's shipped manifest. Throws a `UsageFault` that says what to do if there is none. */
export function findShipped({ provider }: ProviderHead): Manifest {
  const manifest = shippedManifest(provider.id);
  if (manifest !== undefined) return manifest;
  throw new UsageFault(
    `no manifest of ${provider.id} comes with this program; \`tokenmarket manifest import --provider ${provider.id}\` makes one of a public price list`,
  );
}

function placedManifest(manifest: Manifest, flags: Flags): Manifest {
  const baseUrl = readText(flags, "base-url");
  const apiKeyEnv = readText(flags, "api-key-env");
  const isSettled = flags["settlement"] !== undefined || flags["interval"] !== undefined;
  return {
    ...manifest,
    endpoint: {
      ...manifest.endpoint,
      ...(baseUrl === undefined ? {} : { base_url: baseUrl.replace(/\/+$/, "") }),
      ...(apiKeyEnv === undefined ? {} : { api_key_env: apiKeyEnv }),
    },
    ...(isSettled ? { settlement: readSettlement(flags) } : {}),
  };
}

function findKey({ env }: CommandContext, { endpoint }: Manifest): string | undefined {
  const { api_key_env: name } = endpoint;
  if (name === undefined) return undefined;
  const key = env[name] ?? "";
  if (key !== "") return key;
  throw new UsageFault(
    `the environment variable ${name} holds no key; set it, or give --offline to list without asking the provider`,
  );
}

async function askGlobs(
  answers: Answers,
  flags: Flags,
  { provider, models }: Manifest,
): Promise<readonly string[]> {
  const given = toValues(flags["models"]);
  if (given.length > 0 || flags["yes"] === true) return given;
  const globs = await answers.get(undefined, {
    flag: "--models, or --yes for all that the provider serves",
    question: `Models of ${provider.id} to list, of ${models.length} (names, * is any text)`,
    ...(answers.isPerson ? { fallback: "*" } : {}),
    read: splitWords,
  });
  return globs ?? [];
}

/** Asks for parts of the host name and for deployments, which get the maker's prices. */
async function askDeployments(head: ProviderHead, flags: Flags, answers: Answers) {
  const { provider, endpoint, settlement, wire_profile: wireProfile } = head;
  let baseUrl = endpoint.base_url;
  for (const word of head.asks ?? []) {
    const flag = word.toLowerCase();
    const value = await answers.flag(flags, flag, {
      question: `${provider.name}: ${flag} (of ${endpoint.base_url})`,
      read: requireLabel,
    });
    baseUrl = baseUrl.replace(word, value ?? word);
  }
  const pairs = await answers.get(joinValues(flags["deployments"]), {
    flag: "--deployments NAME=MODEL",
    question: "Deployments as NAME=MODEL, such as my-gpt=openai/gpt-4.1",
    read: readPairs,
  });
  answers.needAll("manifest init");
  const listings = pairs ?? [];
  const terms = listings.flatMap(({ model, terms: own }) =>
    own ? [[model.id, deploymentTerms(own)] as const] : [],
  );
  const { privacy_policy_url: privacy, ...rest } = provider;
  if (privacy === undefined) throw new UsageFault(`${provider.id} has no privacy policy`);
  const manifest: Manifest = {
    manifest_version: "1",
    provider: { ...rest, privacy_policy_url: privacy },
    endpoint: { ...endpoint, base_url: baseUrl },
    settlement,
    ...(wireProfile && { wire_profile: wireProfile }),
    models: listings.map(deploymentListing),
    ...(terms.length > 0 && { listing_terms: Object.fromEntries(terms) }),
  };
  const notes = listings.map(({ model, providerId }): ModelNote => {
    const message = `its prices are those of ${providerId}; compare them with the price list of ${provider.name} for your region`;
    return { model: model.id, code: "prices_of_lab", message };
  });
  return { manifest, notes };
}

/** Requires one label of a host name, so that the endpoint stays in the provider's domain. */
function requireLabel(text: string, flag: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text)) return text.toLowerCase();
  throw new UsageFault(`${flag} must be one part of a host name, not ${text}`);
}

function readPairs(text: string) {
  const listings = shippedListings();
  return splitWords(text).map((pair) => {
    const at = pair.indexOf("=");
    if (at <= 0) throw new UsageFault(`--deployments must be NAME=MODEL pairs, not ${pair}`);
    const [upstreamId, id] = [pair.slice(0, at), pair.slice(at + 1)];
    const listing = listings.get(id);
    if (listing !== undefined) return { upstreamId, ...listing };
    const providers = new Set([...listings.values()].map(({ providerId }) => providerId));
    throw new UsageFault(
      `--deployments: no shipped manifest lists ${id}; the ids are in ${[...providers].join(", ")}`,
    );
  });
}
