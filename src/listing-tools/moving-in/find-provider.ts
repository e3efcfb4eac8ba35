import { fireworksName } from "../listing-sources/ids.ts";
import { findHead, type ProviderHead } from "../listing-sources/provider-heads.ts";
import table from "./litellm-providers.json" with { type: "json" };
import { shortText } from "./setting-tree.ts";

interface KnownProvider {
  readonly head: string;
  /** The environment variable from which LiteLLM reads the key. */
  readonly key: string;
  /** True if the provider's name, such as `openai`, can mean any server with its wire. */
  readonly compatible?: boolean;
  /** True if LiteLLM does not call it at the head's address: `api_base` must be written. */
  readonly needs_address?: boolean;
}

const providers: Readonly<Record<string, KnownProvider>> = table.providers;
/** Reason and next step, separated by a semicolon, for each provider that cannot be used. */
export const refusedProviders: Readonly<Record<string, string>> = table.refused;
/** By LiteLLM mode, except `chat`: what a model of this mode produces. */
export const otherKinds: Readonly<Record<string, string>> = table.kinds;
const kindsByName: Readonly<Record<string, readonly string[]>> = table.kinds_by_name;
/** By provider: how the names of its models start that need no prefix. */
const bareNames: Readonly<Record<string, readonly string[]>> = table.bare;
const placeholderKeys: ReadonlySet<string> = new Set(table.placeholder_keys);

export type FoundProvider =
  | {
      readonly ok: true;
      /** LiteLLM's name for the provider, which is also the prefix in LiteLLM's price list. */
      readonly prefix: string;
      readonly head: ProviderHead;
      readonly upstreamId: string;
      readonly defaultKeyName: string;
      readonly isCompatible: boolean;
      readonly needsAddress: boolean;
    }
  | Refused;

export interface Refused {
  readonly ok: false;
  readonly why: string;
  readonly next: string;
}

export function refuse(why: string, next: string): Refused {
  return { ok: false, why, next };
}

/**
 * Finds the provider of a model as LiteLLM does: as configured, else by prefix or name. If the
 * prefix, such as `openai`, can mean any server with its wire, a provider at the origin of `apiBase`
 * takes precedence.
 */
export function findProvider(
  model: string,
  { customProvider, apiBase }: { customProvider: string | undefined; apiBase: string | undefined },
): FoundProvider {
  const found = byName(model, customProvider);
  if (!found.ok || !found.isCompatible || apiBase === undefined) return found;
  const origin = URL.canParse(apiBase) ? new URL(apiBase).origin : undefined;
  for (const [prefix, { head: id, key }] of Object.entries(providers)) {
    const head = findHead(id);
    if (head === undefined || findOrigin(head) !== origin) continue;
    return { ...found, prefix, head, defaultKeyName: key, isCompatible: false };
  }
  return found;
}

function findOrigin({ use, endpoint }: ProviderHead): string | undefined {
  return use === "import" ? new URL(endpoint.base_url).origin : undefined;
}

function byName(model: string, customProvider: string | undefined): FoundProvider {
  const slash = model.indexOf("/");
  const first = slash === -1 ? "" : model.slice(0, slash);
  const isKnown = Object.hasOwn(providers, first) || Object.hasOwn(refusedProviders, first);
  const prefix = customProvider ?? (isKnown ? first : bareProvider(model));
  if (prefix === undefined) {
    return refuse(`the provider of ${shortText(model)} is not known here`, WRITE_MANIFEST);
  }
  if (Object.hasOwn(refusedProviders, prefix)) {
    const [why = "", next = ""] = (refusedProviders[prefix] ?? "").split("; ");
    return refuse(`${prefix}: ${why}`, next);
  }
  const known = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined;
  const rest = isKnown && first === prefix ? model.slice(slash + 1) : model;
  const upstreamId = sentName(prefix, rest);
  const head = known === undefined ? undefined : findHead(chooseHead(known.head, upstreamId));
  if (known === undefined || head === undefined) {
    return refuse(`the provider ${shortText(prefix)} has no head here`, WRITE_MANIFEST);
  }
  return {
    ok: true,
    prefix,
    head,
    upstreamId,
    defaultKeyName: known.key,
    isCompatible: known.compatible === true,
    needsAddress: known.needs_address === true,
  };
}

const WRITE_MANIFEST = "write its manifest: tokenmarket manifest init --base-url ADDRESS";

/** The name that LiteLLM sends to the provider. */
function sentName(prefix: string, name: string): string {
  if (prefix === "fireworks_ai") return fireworksName(name);
  if (prefix === "azure") return name.replace(/^(o_series|gpt5_series)\//, "");
  return prefix.startsWith("bedrock") ? name.replace(/^(converse|invoke)\//, "") : name;
}

/** Bedrock serves Claude models on the Messages wire, and they need the head with that wire. */
function chooseHead(head: string, upstreamId: string): string {
  const isClaude = /(^|\.)anthropic\./.test(upstreamId);
  return head === "bedrock" && isClaude ? "bedrock-messages" : head;
}

function bareProvider(model: string): string | undefined {
  const isMatch = (start: string): boolean => model.startsWith(start);
  return Object.entries(bareNames).find(([, starts]) => starts.some(isMatch))?.[0];
}

/** The output of a model that does not chat, as text for a note; undefined for a chat model. */
export function otherKind(mode: string | undefined, upstreamId: string): string | undefined {
  if (mode !== undefined) {
    return Object.hasOwn(otherKinds, mode) ? otherKinds[mode] : undefined;
  }
  const name = upstreamId.slice(upstreamId.lastIndexOf("/") + 1).toLowerCase();
  const found = Object.entries(kindsByName).find(([, parts]) =>
    parts.some((part) =>
      part.startsWith("*") ? name.includes(part.slice(1)) : name.startsWith(part),
    ),
  );
  return found === undefined ? undefined : otherKinds[found[0]];
}

/** True for texts that people write as the key of a server that needs no key. */
export function isPlaceholderKey(text: string): boolean {
  return placeholderKeys.has(text.toLowerCase());
}

export type FoundAddress =
  | {
      readonly ok: true;
      readonly baseUrl: string;
      /** False for a server that speaks the provider's wire but belongs to somebody else. */
      readonly isProvidersOwn: boolean;
    }
  | Refused;

interface AddressInput {
  readonly head: ProviderHead;
  readonly needsAddress: boolean;
  /** The configured address; undefined: the usual address, which LiteLLM knows. */
  readonly apiBase: string | undefined;
  readonly region: string | undefined;
}

/** Finds a deployment's base address. `why` never quotes it, because it may contain a secret. */
export function findAddress(input: AddressInput): FoundAddress {
  const { head, apiBase } = input;
  const standard = head.endpoint.base_url;
  if (apiBase === undefined) return standardAddress(input);
  const url = URL.canParse(apiBase) ? new URL(apiBase) : undefined;
  const flaw = url === undefined ? "it is not an address" : addressFlaw(url);
  if (url === undefined || flaw !== undefined) {
    return refuse(flaw ?? "", "write an http(s) address without key or query");
  }
  if (head.provider.id === "azure") return own(`${url.origin}/openai/v1`);
  if (head.provider.id.startsWith("bedrock")) return own(`${url.origin}${readPath(standard)}`);
  if (head.use === "local") {
    const path = cleanPath(url.pathname);
    return own(`${url.origin}${/\/v\d+$/.test(path) ? path : `${path}/v1`}`);
  }
  if (url.origin === new URL(standard).origin) return own(standard);
  const path = cleanPath(url.pathname);
  // Addresses may omit the version that the standard address has, because LiteLLM adds it.
  const needsVersion = /\/v\d+$/.test(readPath(standard)) && !/\/v\d/.test(path);
  const isCompatible = head.provider.id === "openai";
  const version = needsVersion && !isCompatible ? "/v1" : "";
  return { ok: true, baseUrl: `${url.origin}${path}${version}`, isProvidersOwn: false };
}

function own(baseUrl: string): FoundAddress {
  return { ok: true, baseUrl, isProvidersOwn: true };
}

function standardAddress({ head, needsAddress, region }: AddressInput): FoundAddress {
  const standard = head.endpoint.base_url;
  const [asked] = needsAddress ? ["ADDRESS"] : (head.asks ?? []);
  if (asked === undefined) return own(standard);
  if (asked === "REGION" && region !== undefined && /^[a-z]{2}[a-z0-9-]{2,30}$/.test(region)) {
    return own(standard.replaceAll("REGION", region));
  }
  const field = asked === "REGION" ? "aws_region_name" : "api_base";
  return refuse(
    `its address needs ${field}, which is not written, or is a variable that is not set`,
    `write ${field}, or set the variable that it names, and import again`,
  );
}

function addressFlaw({ protocol, username, password, search, hash }: URL): string | undefined {
  if (protocol !== "https:" && protocol !== "http:") return "it is not an http(s) address";
  if (username !== "" || password !== "") return "it holds user information, which is a secret";
  return search !== "" || hash !== "" ? "it has a query or a fragment" : undefined;
}

function cleanPath(path: string): string {
  return path
    .replace(/\/+$/, "")
    .replace(/\/(chat\/completions|messages|completions)$/, "")
    .replace(/\/+$/, "");
}

function readPath(address: string): string {
  return cleanPath(new URL(address.replaceAll("REGION", "region")).pathname);
}
