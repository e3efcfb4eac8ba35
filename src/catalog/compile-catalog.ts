import { assert, defined } from "../kernel/index.ts";
import type { CatalogIssue, CatalogNote, ManifestFile } from "./catalog-input.ts";
import type {
  Catalog,
  Deployment,
  ListedModel,
  ListedProvider,
  NotReadyReason,
} from "./catalog.ts";
import { compileDeployment, type DeploymentSettings, listingTerms } from "./compile-deployment.ts";
import { compilePools, NO_POOLS, type StatedPools } from "./compile-pools.ts";
import { type KeyOwners, keyOwners, keyProblems, type KeyRules } from "./key-origins.ts";
import { byProviderThenModel, byText, type Listing, mergeModels } from "./merge-models.ts";
import { priceNotes } from "./price-notes.ts";
import { shortHash } from "./price-sheet.ts";

/** `nowMs` decides which prices are in force and how old checks are. Default: start of `today`. */
export interface CatalogInput
  extends
    Pick<DeploymentSettings, "hasKey">,
    Partial<Pick<DeploymentSettings, "publicForm" | "nowMs" | "staleAfterDays">> {
  readonly manifests: readonly ManifestFile[];
  /** Manifests that may not be reached. Their private models are still reserved for endpoints. */
  readonly leftOut?: readonly ManifestFile[];
  /** Default: a key may be sent only to the origin of the first manifest that names it. */
  readonly keys?: KeyRules;
  /** UTC day of the build, YYYY-MM-DD. Listings with an earlier deprecation date are left out. */
  readonly today: string;
  readonly pools?: StatedPools;
}

export type CatalogOutcome =
  | {
      readonly ok: true;
      readonly catalog: Catalog;
      readonly notes: readonly CatalogNote[];
      readonly keyOwners: KeyOwners;
    }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

/** Compiles manifests, in any order, into one catalog, or returns the issues that prevent that. */
export function compileCatalog(input: CatalogInput): CatalogOutcome {
  const duplicates = duplicateProviders(input.manifests);
  if (duplicates.length > 0) return { ok: false, issues: duplicates };
  const rules = input.keys ?? EACH_FOR_ITS_FIRST_ORIGIN;
  const misplaced = keyProblems(input.manifests, rules);
  const taken = misplaced.flatMap(({ kind, ...issue }) => (kind === "own_variable" ? [issue] : []));
  if (taken.length > 0) return { ok: false, issues: taken };
  const elsewhere = new Map(misplaced.map(({ file, message }) => [file, message]));
  const {
    hasKey,
    publicForm = () => false,
    nowMs = Date.parse(`${input.today}T00:00:00Z`),
    staleAfterDays = Infinity,
  } = input;
  const compiled = input.manifests.flatMap((listed) => {
    const mayHaveKey = !elsewhere.has(listed.file);
    const settings = { hasKey, mayHaveKey, publicForm, nowMs, staleAfterDays };
    return listed.manifest.models.map((model, index): CompiledEntry => {
      return { ...listed, index, model, deployment: compileDeployment(listed, model, settings) };
    });
  });
  compiled.sort(byProviderThenModel);
  const past = compiled.filter((entry) => isPast(entry, input.today));
  const single = compiled.filter((entry) => !isPast(entry, input.today));
  const compileFor = (entries: readonly CompiledEntry[]): ReturnType<typeof compilePools> =>
    compilePools(
      input.pools ?? NO_POOLS,
      entries.map(({ deployment }) => deployment),
    );
  // A pool must not become invalid because a deprecation date has passed. So listings past that
  // date count if the pools would be invalid without them.
  const current = compileFor(single);
  const pools = current.issues.length === 0 ? current : compileFor(compiled);
  const issues = [...modalityConflicts(single), ...pools.issues];
  if (issues.length > 0) return { ok: false, issues };
  const ordered = single.map((entry): CompiledEntry => {
    const pool = pools.poolOf.get(entry.deployment.id) ?? entry.deployment.pool;
    return { ...entry, deployment: { ...entry.deployment, pool } };
  });
  const catalog = buildCatalog(input, past, ordered);
  const notes = [
    ...ordered.flatMap((each) => notReadyNote(each, elsewhere)),
    ...past.map(pastNote),
    ...ordered.flatMap(({ file, deployment }) => priceNotes(file, deployment)),
    ...pools.notes,
  ];
  const owners = keyOwners(input.manifests, rules);
  return { ok: true, catalog, notes: deepFreeze(notes), keyOwners: owners };
}

const EACH_FOR_ITS_FIRST_ORIGIN: KeyRules = { isOwnVariable: () => false, origins: new Map() };

interface CompiledEntry extends ManifestFile, Listing {
  readonly index: number;
}

function duplicateProviders(manifests: readonly ManifestFile[]): CatalogIssue[] {
  const fileOf = new Map<string, string>();
  return manifests.flatMap(({ file, manifest }) => {
    const first = fileOf.get(manifest.provider.id);
    if (first === undefined) {
      fileOf.set(manifest.provider.id, file);
      return [];
    }
    const taken = `provider id ${manifest.provider.id} is already used by ${first}`;
    const message = `${taken}; merge the two or rename one`;
    return [{ file, pointer: "/provider/id", message }];
  });
}

/** YYYY-MM-DD can be compared as text. The model is still served on its deprecation date. */
function isPast({ model }: CompiledEntry, today: string): boolean {
  return model.deprecation_date !== undefined && model.deprecation_date < today;
}

/** Providers must agree on a model's modality, because their listings are merged into one model. */
function modalityConflicts(entries: readonly CompiledEntry[]): CatalogIssue[] {
  const firstOf = new Map<string, CompiledEntry>();
  return entries.flatMap((entry) => {
    const { modelId, modality } = entry.deployment;
    const first = firstOf.get(modelId) ?? entry;
    firstOf.set(modelId, first);
    if (first.deployment.modality === modality) return [];
    const other = `${first.file} lists it as ${first.deployment.modality}`;
    const message = `model ${modelId} has modality ${modality}, but ${other}; rename one of them`;
    return [{ file: entry.file, pointer: `/models/${entry.index}`, message }];
  });
}

function buildCatalog(
  input: CatalogInput,
  past: readonly CompiledEntry[],
  ordered: readonly CompiledEntry[],
): Catalog {
  const deployments = ordered.map(({ deployment }) => deployment);
  const routed = ordered.filter(({ deployment }) => deployment.notReady === undefined);
  const models = mergeModels(routed);
  const byId = new Map(models.map((model): [string, ListedModel] => [model.id, model]));
  assert(byId.size === models.length, "each model id is listed once");
  const dedicated = dedicatedModels(ordered);
  const manifests = [...input.manifests, ...(input.leftOut ?? [])];
  const dedicatedIds = new Set(manifests.flatMap(({ manifest }) => privateIds(manifest)));
  const deploymentById = new Map(
    [...ordered, ...past].map(({ deployment }) => [deployment.id, deepFreeze(deployment)]),
  );
  return deepFreeze({
    buildId: computeBuildId(input, past, ordered),
    models,
    providers: listProviders(routed),
    deployments,
    find: (id: string) => byId.get(id),
    findDeployment: (id: string) => deploymentById.get(id),
    findDedicated: (providerId: string, id: string) => dedicated.get(`${providerId}/${id}`),
    isDedicated: (providerId: string, id: string) => dedicatedIds.has(`${providerId}/${id}`),
  });
}

function privateIds({ provider, models }: ManifestFile["manifest"]): readonly string[] {
  return provider.listing === "private" ? models.map(({ id }) => `${provider.id}/${id}`) : [];
}

function dedicatedModels(ordered: readonly Listing[]): ReadonlyMap<string, ListedModel> {
  const hidden = ordered.filter(({ deployment }) => deployment.notReady === "private");
  return new Map(
    hidden.flatMap((listing) =>
      mergeModels([listing]).map((model) => [listing.deployment.id, deepFreeze(model)] as const),
    ),
  );
}

function computeBuildId(
  { manifests, leftOut = [], pools }: CatalogInput,
  past: readonly CompiledEntry[],
  ordered: readonly CompiledEntry[],
): string {
  const all = [...manifests, ...leftOut];
  const texts = all.map(({ manifest }) => JSON.stringify(manifest)).sort();
  const pooled = (pools?.pools ?? []).map((pool) => JSON.stringify(pool));
  const dated = ordered.flatMap(({ deployment: { id, datedPrices, prices } }) =>
    datedPrices === undefined || prices === null ? [] : [`${id} ${prices.pinId}`],
  );
  const aged = ordered.flatMap(({ deployment: { id, checked, notReady } }) =>
    checked === undefined || (checked.age === "recent" && notReady !== "stale")
      ? []
      : [`${id} ${checked.age} ${notReady ?? ""}`],
  );
  const gone = past.map(({ deployment }) => deployment.id).sort();
  return shortHash([...texts, ...gone, ...pooled, ...dated, ...aged].join("\n"));
}

function notReadyNote(
  { file, manifest, model, deployment }: CompiledEntry,
  elsewhere: ReadonlyMap<string, string>,
): CatalogNote[] {
  const reason = deployment.notReady;
  if (reason === undefined) return [];
  const staged = listingTerms(manifest, model)?.staged_because?.join(", ");
  const keyName = manifest.endpoint.api_key_env ?? "";
  const texts: Readonly<Record<NotReadyReason, string>> = {
    staged:
      staged === undefined
        ? "is_ready is false; set it to true to route the listing"
        : `it is staged (${staged}); docs/catalog.md says what makes it ready`,
    key_missing: `${keyName} is not set; put the provider's key into that environment variable`,
    key_elsewhere: elsewhere.get(file) ?? `${keyName} belongs to another origin`,
    private: "it is private capacity; only its dedicated endpoint reaches it",
    stale: "its prices were checked longer ago than catalog.stale_after_days",
  };
  const message = `${deployment.id} is not routed: ${texts[reason]}`;
  return [{ file, deploymentId: deployment.id, reason, message }];
}

function pastNote({ file, deployment: { id } }: CompiledEntry): CatalogNote {
  const message = `${id} left the catalog: its deprecation_date has passed`;
  return { file, deploymentId: id, reason: "past_dated", message };
}

/** Freezes a value and all in it. The entries of a map or set are protected only by its type. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) for (const member of value.values()) deepFreeze(member);
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

function listProviders(routed: readonly CompiledEntry[]): readonly ListedProvider[] {
  const byId = new Map<string, ListedProvider & { readonly deployments: Deployment[] }>();
  for (const { manifest, deployment } of routed) {
    const { providerId: id } = deployment;
    const known = byId.get(id);
    if (known !== undefined) {
      known.deployments.push(deployment);
      continue;
    }
    const { provider } = manifest;
    byId.set(id, {
      id,
      name: provider.name,
      privacyPolicyUrl: provider.privacy_policy_url,
      ...defined({
        termsOfServiceUrl: provider.terms_of_service_url,
        statusPageUrl: provider.status_page_url,
      }),
      promptLogging: provider.prompt_logging,
      deployments: [deployment],
    });
  }
  return [...byId.values()].sort((a, b) => byText(a.name, b.name) || byText(a.id, b.id));
}

/** Holds the catalog in force. A request keeps using the catalog that it read from `current`. */
export class CatalogHolder {
  #current: Catalog;

  constructor(first: Catalog) {
    this.#current = first;
  }

  get current(): Catalog {
    return this.#current;
  }

  swap(next: Catalog): Catalog {
    const replaced = this.#current;
    this.#current = next;
    return replaced;
  }
}
