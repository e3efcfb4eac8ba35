import { defined, type RawJson } from "../../kernel/index.ts";
import { isUpstreamId } from "../listing-sources/entry-rules.ts";
import type { ProviderHead } from "../listing-sources/provider-heads.ts";
import type { Fates } from "./fates.ts";
import {
  findAddress,
  findProvider,
  type FoundAddress,
  type FoundProvider,
  otherKind,
  refuse,
  type Refused,
} from "./find-provider.ts";
import { type KeyNames, looksSecret, parseVariable } from "./key-names.ts";
import {
  asList,
  asMap,
  numberAt,
  settingAt,
  type SettingPath,
  shortText,
  textAt,
} from "./setting-tree.ts";

/** USD per token, as the configuration writes them. */
type WrittenPrices = Readonly<Partial<Record<keyof typeof PRICE_FIELDS, string>>>;

export interface MovedDeployment {
  readonly path: SettingPath;
  /** Names that clients send: the model name first, then its aliases. */
  readonly names: readonly string[];
  readonly prefix: string;
  readonly head: ProviderHead;
  readonly upstreamId: string;
  readonly baseUrl: string;
  /** False for a server that speaks the provider's wire but belongs to somebody else. */
  readonly isProvidersOwn: boolean;
  readonly keyName?: string;
  readonly priority: number | undefined;
  readonly capacity: {
    readonly requestsPerMinute: number | undefined;
    readonly tokensPerMinute: number | undefined;
    readonly concurrent: number | undefined;
  };
  readonly prices: WrittenPrices;
  readonly baseModel: string | undefined;
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly abilities: Readonly<
    Record<"tools" | "structured" | "reasons" | "vision" | "files", boolean>
  >;
}

export interface DeploymentsInput {
  readonly config: RawJson;
  readonly fates: Fates;
  readonly keyNames: KeyNames;
  readonly addressOf: (envName: string) => string | undefined;
  /** Secrets of the configuration, which no listing may contain. */
  readonly secrets: readonly string[];
  /** Shipped ids of one or all providers. A note suggests these instead of a wildcard. */
  readonly shippedIds: (providerId: string | undefined) => readonly string[];
}

/** Reads the deployments of `model_list`. A deployment that cannot be moved gets a note instead. */
export function readDeployments(input: DeploymentsInput): MovedDeployment[] {
  const items = asList(settingAt(input.config, "model_list")) ?? [];
  const keys = items.map((item) => textAt(settingAt(item, "litellm_params"), "api_key"));
  input.keyNames.reserve(keys.flatMap((key) => parseVariable(key ?? "") ?? []));
  return items.flatMap((item, at) => {
    const path = ["model_list", at];
    // `listNotes` writes the note for an item that is not a map.
    if (asMap(item) === undefined) return [];
    const read = readDeployment(item, path, input);
    if (read.ok) return [read.deployment];
    const { why, next } = read;
    input.fates.notCarried(path, { what: `the model ${describeName(item)}`, why, next });
    return [];
  });
}

function describeName(item: RawJson): string {
  const name = textAt(item, "model_name");
  return name === undefined ? "without a name" : shortText(name);
}

type DeploymentReading = { readonly ok: true; readonly deployment: MovedDeployment } | Refused;

function readDeployment(
  item: RawJson,
  path: SettingPath,
  { fates, keyNames, addressOf, secrets, shippedIds }: DeploymentsInput,
): DeploymentReading {
  const params = settingAt(item, "litellm_params");
  const located = locate(item, { addressOf, shippedIds });
  if (!located.ok) return located;
  const { name, found, address } = located;
  const { prefix, head, upstreamId } = found;
  const { baseUrl, isProvidersOwn } = address;
  const shown = [name, upstreamId, baseUrl];
  if (shown.some((text) => looksSecret(text) || secrets.some((each) => text.includes(each)))) {
    return refuse("its name or its address holds a secret", "write it without, and import again");
  }
  const facts = carriedFacts(item, path, fates);
  const written = textAt(params, "api_key");
  const key = keyNames.nameFor({
    written,
    standard: found.defaultKeyName,
    headKey: head.endpoint.api_key_env,
    address,
    isLocal: head.use === "local",
    needsAddress: found.needsAddress,
  });
  const noted = written === undefined ? "model" : "api_key";
  if (key.said !== undefined) fates[key.fate]([...path, "litellm_params", noted], key.said);
  return {
    ok: true,
    deployment: {
      path,
      names: [name],
      prefix,
      head,
      upstreamId,
      baseUrl,
      isProvidersOwn,
      ...defined({ keyName: key.name }),
      ...facts,
    },
  };
}

interface Located {
  readonly ok: true;
  readonly name: string;
  readonly found: FoundProvider & { readonly ok: true };
  readonly address: FoundAddress & { readonly ok: true };
}

function locate(
  item: RawJson,
  { addressOf, shippedIds }: Pick<DeploymentsInput, "addressOf" | "shippedIds">,
): Located | Refused {
  const params = settingAt(item, "litellm_params");
  const name = textAt(item, "model_name");
  const model = textAt(params, "model");
  if (name === undefined || model === undefined) {
    return refuse("it has no model_name or no litellm_params.model", "complete the entry");
  }
  if (parseVariable(model) !== undefined) {
    return refuse("its model is a variable", "write the model's name into litellm_params.model");
  }
  const resolved = (text: string | undefined): string | undefined => {
    const variable = parseVariable(text ?? "");
    return variable === undefined ? text : addressOf(variable);
  };
  const written = addressText(params);
  const apiBase = resolved(written);
  // Without the configured address, the deployment would wrongly get the provider's own server.
  if (written !== undefined && apiBase === undefined) {
    const next = "set the variable, and import again";
    return refuse("its address is a variable that is not set", next);
  }
  const customProvider = textAt(params, "custom_llm_provider");
  const found = findProvider(model, { customProvider, apiBase });
  const mode = textAt(settingAt(item, "model_info"), "mode");
  const refused = whyNotListed({ name, model, found, mode, shippedIds });
  if (refused !== undefined) return refused;
  if (!found.ok) return found;
  const region = textAt(params, "aws_region_name") ?? textAt(params, "region_name");
  const address = findAddress({ ...found, apiBase, region: resolved(region) });
  return address.ok ? { ok: true, name, found, address } : address;
}

function whyNotListed(of: {
  readonly name: string;
  readonly model: string;
  readonly found: FoundProvider;
  readonly mode: string | undefined;
  readonly shippedIds: DeploymentsInput["shippedIds"];
}): Refused | undefined {
  const { name, model, found, mode, shippedIds } = of;
  if (mode !== undefined && mode !== "chat" && otherKind(mode, "") === undefined) {
    return refuse(`its mode ${shortText(mode)} is not known here`, "list it by hand");
  }
  const other = otherKind(mode, found.ok ? found.upstreamId : model);
  if (other !== undefined) {
    const next = "keep it where it is, or list it by hand";
    return refuse(`it makes ${other}; only chat is moved`, next);
  }
  if (name.includes("*") || model.includes("*")) {
    const ids = shippedIds(found.ok ? found.head.provider.id : undefined);
    const shown = ids.slice(0, OFFERED_MAX).join(", ");
    const more = ids.length > OFFERED_MAX ? ` and ${ids.length - OFFERED_MAX} more` : "";
    const next =
      ids.length === 0
        ? "list each model by its name, or run tokenmarket manifest import for the provider"
        : `list the models that you sell by their names; shipped are ${shown}${more}`;
    return refuse("it means every model of a provider, and a listing is one model", next);
  }
  if (!found.ok || isUpstreamId(found.upstreamId)) return undefined;
  const next = "rename the model at its provider, for example with ollama cp";
  return refuse("the model's id at its provider has a form that no manifest can hold", next);
}

const OFFERED_MAX = 40;

const ADDRESS_FIELDS = ["api_base", "base_url", "aws_bedrock_runtime_endpoint"] as const;

function addressText(params: RawJson | undefined): string | undefined {
  return ADDRESS_FIELDS.flatMap((field) => textAt(params, field) ?? [])[0];
}

const PRIORITY_MAX = 100;

function carriedFacts(item: RawJson, path: SettingPath, fates: Fates) {
  const reader = new FieldReader(item, path, fates);
  const legacy = reader.count(["model_info", "max_tokens"]);
  reader.text(["model_info", "mode"]);
  reader.text(["litellm_params", "custom_llm_provider"]);
  for (const field of [...ADDRESS_FIELDS, "aws_region_name", "region_name"]) {
    reader.text(["litellm_params", field]);
  }
  fates.carried([...path, "model_name"]);
  fates.carried([...path, "litellm_params", "model"]);
  return {
    priority: reader.count(["litellm_params", "order"], PRIORITY_MAX),
    capacity: {
      requestsPerMinute: reader.eitherCount("rpm"),
      tokensPerMinute: reader.eitherCount("tpm"),
      concurrent: reader.eitherCount("max_parallel_requests"),
    },
    // `priceListing` decides whether to use the prices.
    prices: writtenPrices(item),
    baseModel:
      reader.text(["model_info", "base_model"]) ?? reader.text(["litellm_params", "base_model"]),
    contextLength: reader.count(["model_info", "max_input_tokens"]) ?? legacy,
    maxOutputTokens: reader.count(["model_info", "max_output_tokens"]),
    abilities: {
      tools: reader.flag("supports_function_calling"),
      structured: reader.flag("supports_response_schema"),
      reasons: reader.flag("supports_reasoning"),
      vision: reader.flag("supports_vision"),
      files: reader.flag("supports_pdf_input"),
    },
  };
}

export const PRICE_FIELDS = {
  prompt: "input_cost_per_token",
  completion: "output_cost_per_token",
  cached_prompt: "cache_read_input_token_cost",
  cache_write: "cache_creation_input_token_cost",
  internal_reasoning: "output_cost_per_reasoning_token",
} as const;

/** A price in `litellm_params` takes precedence over one in `model_info`, as in LiteLLM. */
function writtenPrices(item: RawJson): WrittenPrices {
  const places = [settingAt(item, "litellm_params"), settingAt(item, "model_info")];
  return Object.fromEntries(
    Object.entries(PRICE_FIELDS).flatMap(([sku, field]) => {
      const price = places
        .map((place) => numberAt(place, field))
        .find((text) => text !== undefined);
      return price === undefined ? [] : [[sku, price]];
    }),
  );
}

const WHOLE_NUMBER = /^\d{1,12}(?:\.0*)?$/;

class FieldReader {
  readonly #item: RawJson;
  readonly #path: SettingPath;
  readonly #fates: Fates;

  constructor(item: RawJson, path: SettingPath, fates: Fates) {
    this.#item = item;
    this.#path = path;
    this.#fates = fates;
  }

  /** Returns undefined unless the field is a whole number from 1 to `max`. */
  count(at: readonly string[], max = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = numberAt(this.#findParent(at), at.at(-1) ?? "");
    if (text === undefined || !WHOLE_NUMBER.test(text)) return undefined;
    const value = Number(text);
    if (value < 1 || value > max) return undefined;
    this.#fates.carried([...this.#path, ...at]);
    return value;
  }

  /** Reads a field from `litellm_params`, or, as in old files, from the item around that map. */
  eitherCount(field: string): number | undefined {
    return this.count(["litellm_params", field]) ?? this.count([field]);
  }

  text(at: readonly string[]): string | undefined {
    const text = textAt(this.#findParent(at), at.at(-1) ?? "");
    if (text !== undefined) this.#fates.carried([...this.#path, ...at]);
    return text;
  }

  flag(field: string): boolean {
    const found = settingAt(settingAt(this.#item, "model_info"), field);
    if (found !== true && found !== false) return false;
    this.#fates.carried([...this.#path, "model_info", field]);
    return found;
  }

  #findParent(at: readonly string[]): RawJson | undefined {
    return at.slice(0, -1).reduce<RawJson | undefined>(settingAt, this.#item);
  }
}
