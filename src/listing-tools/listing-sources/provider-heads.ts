import type {
  HistoryRule,
  ManifestDescriptor,
  ManifestEndpoint,
  ManifestPrice,
  ManifestProvider,
  ManifestSettlement,
  ManifestWireProfile,
} from "../../catalog/index.ts";
import { assert, matchesGlob } from "../../kernel/index.ts";
import table from "./heads.json" with { type: "json" };

/** The public sources of listings, by the names that commands and manifests use. */
export const LISTING_SOURCES = ["litellm", "models.dev", "openrouter", "genai-prices"] as const;

export type ListingSource = (typeof LISTING_SOURCES)[number];

export function isListingSource(text: string): text is ListingSource {
  return (LISTING_SOURCES as readonly string[]).includes(text);
}

type Parameters = Readonly<Record<string, ManifestDescriptor>>;

/** A manifest without models, as read on the provider's own pages on the day `checked_on`. */
export interface ProviderHead {
  /**
   * `import`: models come from the sources. `init`: the operator states address or models. `local`:
   * models come from the operator's server, and the operator states its privacy policy.
   */
  readonly use: "import" | "init" | "local";
  readonly provider: HeadProvider;
  readonly endpoint: ManifestEndpoint;
  readonly settlement: ManifestSettlement;
  /** Placeholders in the endpoint's address, such as `REGION`, that the operator must fill in. */
  readonly asks?: readonly string[];
  /** The request parameter that bounds the output, for models that reason and for all others. */
  readonly output_bound: { readonly usual: string; readonly reasoning: string };
  readonly parameters: HeadParameters;
  readonly wire_profile?: ManifestWireProfile;
  /** History rules of single listings: for each, globs of the provider's names of these models. */
  readonly listing_history?: Readonly<Partial<Record<HistoryRule, readonly string[]>>>;
  /** Descriptors that replace those of single listings, by globs of the provider's names. */
  readonly listing_parameters?: Readonly<Record<string, Parameters>>;
  /** Path in a request body of the highest price that the chosen endpoint may have. */
  readonly price_ceiling?: { readonly path: readonly string[] };
  readonly staged_because?: readonly string[];
  /** The provider's name in each source. In `openrouter`, `*` takes every entry. */
  readonly sources: Readonly<Partial<Record<ListingSource, string>>>;
  readonly facts: readonly string[];
}

/** The policy is optional here: a local server has no privacy policy of its own. */
export type HeadProvider = Omit<ManifestProvider, "privacy_policy_url"> &
  Partial<Pick<ManifestProvider, "privacy_policy_url">>;

/** Parameter descriptors, grouped by the ability that a model needs for them. */
export interface HeadParameters {
  readonly always?: Parameters;
  /** For models that accept sampling parameters. */
  readonly sampling?: Parameters;
  /** For models that do not reason. */
  readonly plain?: Parameters;
  readonly reasoning?: Parameters;
  /** For models of which a source states the efforts, which replace the values here. */
  readonly efforts?: Parameters;
  readonly tools?: Parameters;
  readonly structured?: Parameters;
}

export interface ModelAbilities {
  /** Default: the name is in no glob of `listing_parameters`. */
  readonly upstreamId?: string;
  readonly reasons: boolean;
  readonly tools: boolean;
  readonly structured: boolean;
  /** False if the model refuses temperature and similar parameters. */
  readonly sampling: boolean;
  readonly efforts?: readonly string[];
  readonly maxOutputTokens?: number;
}

/** A head as the table writes it. A parameter by its name alone has its usual descriptor. */
interface WrittenHead extends Omit<ProviderHead, "output_bound" | "parameters"> {
  readonly output_bound?: ProviderHead["output_bound"];
  readonly parameters: Readonly<Record<string, readonly (string | Parameters)[]>>;
}

const { usual, heads: written } = table as unknown as {
  /** For each parameter: the descriptor that is most frequent among its providers. */
  readonly usual: Parameters;
  readonly heads: readonly WrittenHead[];
};

const USUAL_BOUND = { usual: "max_tokens", reasoning: "max_tokens" } as const;

const heads: readonly ProviderHead[] = written.map((head) => {
  const groups = Object.entries(head.parameters);
  const parameters = groups.map(([ability, listed]) => [ability, describeAll(listed)] as const);
  return { output_bound: USUAL_BOUND, ...head, parameters: Object.fromEntries(parameters) };
});

function describeAll(listed: readonly (string | Parameters)[]): Parameters {
  const described = listed.flatMap((each): (readonly [string, ManifestDescriptor])[] => {
    if (typeof each !== "string") return Object.entries(each);
    const descriptor = usual[each];
    assert(descriptor !== undefined, "a parameter without a descriptor has a usual one");
    return [[each, descriptor]];
  });
  return Object.fromEntries(described);
}

/** All heads, in the order in which commands offer them. */
export function providerHeads(): readonly ProviderHead[] {
  return heads;
}

/** True if the head and a source's models are all that a manifest of this provider needs. */
export function isImportable(head: ProviderHead): head is ProviderHead & {
  readonly provider: ManifestProvider;
} {
  return head.provider.privacy_policy_url !== undefined && Object.keys(head.sources).length > 0;
}

export function findHead(id: string): ProviderHead | undefined {
  return heads.find(({ provider }) => provider.id === id);
}

/** The `supported_parameters` of a listing: those that both the provider and the model accept. */
export function headParameters(
  { parameters, output_bound: bound, listing_parameters: own = {} }: ProviderHead,
  model: ModelAbilities,
): Record<string, ManifestDescriptor> {
  const { maxOutputTokens: max, efforts = [], upstreamId = "" } = model;
  const taken: Record<string, ManifestDescriptor> = {
    [model.reasons ? bound.reasoning : bound.usual]: {
      type: "integer",
      min: 1,
      ...(max !== undefined && { max }),
      unit: "tokens",
    },
    ...parameters.always,
    ...(model.sampling && parameters.sampling),
    ...(!model.reasons && parameters.plain),
    ...(model.reasons && parameters.reasoning),
    ...(efforts.length > 0 && parameters.efforts),
    ...(model.tools && parameters.tools),
    ...(model.structured && parameters.structured),
  };
  for (const name of efforts.length > 0 ? ["reasoning_effort", "effort"] : []) {
    if (taken[name] !== undefined) taken[name] = { type: "enum", values: efforts };
  }
  const globs = Object.keys(own).filter((glob) => matchesGlob(glob, upstreamId));
  for (const [name, descriptor] of globs.flatMap((glob) => Object.entries(own[glob] ?? {}))) {
    if (taken[name] !== undefined) taken[name] = descriptor;
  }
  return taken;
}

/** The history rules of the model's listing; undefined if it has none of its own. */
export function headHistory(
  { listing_history: rules = {} }: ProviderHead,
  upstreamId: string,
): readonly HistoryRule[] | undefined {
  const found = Object.entries(rules).flatMap(([rule, globs]) =>
    globs.some((glob) => matchesGlob(glob, upstreamId)) ? [rule as HistoryRule] : [],
  );
  return found.length === 0 ? undefined : found;
}

/** Body members that cap prices at `pricing`; undefined if the provider takes no ceiling. */
export function ceilingBody(
  { price_ceiling: ceiling }: ProviderHead,
  pricing: readonly ManifestPrice[],
): Readonly<Record<string, unknown>> | undefined {
  if (ceiling === undefined) return undefined;
  const limits = pricing
    .filter(({ type }) => type === "prompt" || type === "completion")
    .map(({ type, cost_usd_per_million: price }) => [type, price]);
  return ceiling.path.reduceRight<Record<string, unknown>>(
    (inner, key) => ({ [key]: inner }),
    Object.fromEntries(limits) as Record<string, unknown>,
  );
}
