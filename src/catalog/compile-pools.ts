import { type Static, type TArray, type TSchema, type TUnsafe, Type } from "typebox";
import { parse as parseYaml } from "yaml";

import { defined, pointerTo, type SchemaFault, schemaFaults } from "../kernel/index.ts";
import type { CatalogIssue, CatalogNote } from "./catalog-input.ts";
import type { CapacityDeclaration, Deployment, PoolDeclaration } from "./catalog.ts";

export interface StatedPool extends Omit<PoolDeclaration, "orgSharePercent"> {
  /** The id has no slash, so it never equals the id of a deployment's own pool. */
  readonly id: string;
  /** Deployment ids, or `<provider id>/*` for all listings of a provider. */
  readonly listings: readonly string[];
  /** Percent of every limit that one organization may use; absent: it depends on the modalities. */
  readonly orgSharePercent?: number;
}

export interface StatedPools {
  readonly file: string;
  readonly pools: readonly StatedPool[];
}

export const NO_POOLS: StatedPools = { file: "", pools: [] };

export interface CompiledPools {
  /** The pool of each deployment that the operator's file puts into one, by deployment id. */
  readonly poolOf: ReadonlyMap<string, PoolDeclaration>;
  readonly issues: readonly CatalogIssue[];
  readonly notes: readonly CatalogNote[];
}

type Member = Pick<Deployment, "id" | "providerId" | "modality" | "capacity">;

const HALF_PERCENT = 50;
const DECISIONS_PERCENT = 75;

export function ownPool(
  { id, modality, capacity }: Omit<Member, "providerId">,
  isPrivate: boolean,
): PoolDeclaration {
  // Private capacity belongs to one organization, which may use all of it.
  return { id, capacity, orgSharePercent: isPrivate ? 100 : defaultSharePercent([{ modality }]) };
}

/** A pool's limits replace its members'. If it has none, its only member with limits decides. */
export function compilePools(stated: StatedPools, deployments: readonly Member[]): CompiledPools {
  const { file, pools } = stated;
  const poolOf = new Map<string, PoolDeclaration>();
  const issues = duplicateIds(stated);
  const notes: CatalogNote[] = [];
  for (const [at, pool] of pools.entries()) {
    const members = pool.listings.map((listing) =>
      deployments.filter((each) => isNamed(each, listing)),
    );
    for (const [index, listing] of pool.listings.entries()) {
      const named = members[index] ?? [];
      if (named.length === 0) notes.push(unknownNote(file, pool, listing));
      for (const { id } of named) {
        const first = poolOf.get(id);
        if (first === undefined) continue;
        const pointer = `/${at}/listings/${index}`;
        issues.push({ file, pointer, message: inTwo(id, first.id, pool.id) });
      }
    }
    const declared = declarePool(pool, [...new Set(members.flat())]);
    if (!declared.ok) issues.push({ file, pointer: `/${at}`, message: declared.message });
    else for (const { id } of members.flat()) poolOf.set(id, declared.pool);
  }
  return { poolOf, issues, notes };
}

function duplicateIds({ file, pools }: StatedPools): CatalogIssue[] {
  return pools.flatMap(({ id }, at) => {
    const first = pools.findIndex((each) => each.id === id);
    if (first === at) return [];
    const message = `pool id ${id} is already used by /${first}; merge the two or rename one`;
    return [{ file, pointer: `/${at}/id`, message }];
  });
}

function isNamed({ id, providerId }: Member, listing: string): boolean {
  return listing === id || listing === `${providerId}/*`;
}

function unknownNote(file: string, { id }: StatedPool, listing: string): CatalogNote {
  const message = `pool ${id} names ${listing}, which no manifest lists; correct it or remove it`;
  return { file, deploymentId: listing, reason: "unknown_listing", message };
}

function inTwo(deploymentId: string, first: string, second: string): string {
  const pools = first === second ? `two pools named ${first}` : `the pools ${first} and ${second}`;
  return `${deploymentId} is in ${pools}; remove it from one of them`;
}

type Declared =
  | { readonly ok: true; readonly pool: PoolDeclaration }
  | { readonly ok: false; readonly message: string };

function declarePool(stated: StatedPool, members: readonly Member[]): Declared {
  const {
    id,
    listings: _named,
    orgSharePercent = defaultSharePercent(members),
    ...limits
  } = stated;
  const { capacity, ...others } = limits;
  if (members.length === 0 || capacity.length > 0 || Object.keys(others).length > 0) {
    return { ok: true, pool: { id, ...limits, orgSharePercent } };
  }
  const declaring = members.filter((member) => member.capacity.length > 0);
  const [only, ...more] = declaring;
  if (only !== undefined && more.length === 0) {
    return { ok: true, pool: { id, capacity: only.capacity, orgSharePercent } };
  }
  const message = `pool ${id} states no limit, and ${whoDeclares(declaring)}; state one, such as concurrent: 8`;
  return { ok: false, message };
}

function whoDeclares(declaring: readonly { readonly id: string }[]): string {
  if (declaring.length === 0) return "none of its listings declares a capacity";
  return `${declaring.map(({ id }) => id).join(" and ")} each declare a capacity of their own`;
}

function defaultSharePercent(members: readonly Pick<Member, "modality">[]): number {
  const isDecisions = members.every(({ modality }) => modality === "decisions");
  return isDecisions ? DECISIONS_PERCENT : HALF_PERCENT;
}

export type ParsedPools =
  | { readonly ok: true; readonly pools: StatedPools }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

export function parsePoolsFile(file: string, text: string): ParsedPools {
  let document: unknown;
  try {
    document = parseYaml(text);
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message.split("\n")[0] : String(fault);
    return { ok: false, issues: [{ file, pointer: "", message: `it is not YAML: ${reason}` }] };
  }
  const faults = poolFaults(document);
  const pools = faults.length === 0 ? (document as readonly PoolFields[]) : [];
  const issues = [...faults, ...pools.flatMap(repeatedCapacities)].map(({ path, message }) => ({
    file,
    pointer: pointerTo(path),
    message,
  }));
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, pools: { file, pools: pools.map(statedPool) } };
}

const count = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "a whole number above 0",
});

function choice<const T extends readonly string[]>(...choices: T): TUnsafe<T[number]> {
  return Type.Unsafe({ enum: choices, description: `one of ${choices.join(", ")}` });
}

function nonEmptyList<S extends TSchema>(entry: S): TArray<S> {
  return Type.Array(entry, { minItems: 1, description: "a list with at least one entry" });
}

const capacity = Type.Object(
  {
    type: choice("request", "prompt", "completion"),
    per: choice("minute", "hour", "day"),
    value: count,
  },
  { additionalProperties: false, description: "an object with the fields type, per, value" },
);

const pool = Type.Object(
  {
    id: Type.String({
      pattern: "^[a-z0-9][a-z0-9_-]{0,63}$",
      description: "1 to 64 of a-z, 0-9, - and _, a letter or digit first",
    }),
    listings: nonEmptyList(
      Type.String({
        pattern: "^[a-z0-9][a-z0-9-]{1,62}/(?:\\*|[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127})$",
        description: "<provider id>/<model id>, or <provider id>/* for all listings of a provider",
      }),
    ),
    org_share: Type.Optional(choice("half", "three_quarters")),
    requests_per_minute: Type.Optional(count),
    tokens_per_minute: Type.Optional(count),
    requests_per_second: Type.Optional(count),
    concurrent: Type.Optional(count),
    capacity: Type.Optional(nonEmptyList(capacity)),
  },
  { additionalProperties: false, description: "an object with the fields id, listings" },
);
type PoolFields = Static<typeof pool>;

const poolFaults = schemaFaults(
  Type.Array(pool, { description: "a list of pools; write [] for none" }),
  { missing: "is missing", unknown: "is not a known field; the fields are {names}" },
);

function statedPool(fields: PoolFields): StatedPool {
  const { org_share: share, concurrent } = fields;
  return {
    id: fields.id,
    listings: fields.listings,
    capacity: listCapacities(fields),
    ...defined({
      orgSharePercent: share && (share === "half" ? 50 : 75),
      tokensPerMinute: fields.tokens_per_minute,
      requestsPerSecond: fields.requests_per_second,
      concurrent,
    }),
  };
}

function listCapacities(fields: PoolFields): readonly CapacityDeclaration[] {
  const { requests_per_minute: value, capacity: listed = [] } = fields;
  return value === undefined ? listed : [{ type: "request", per: "minute", value }, ...listed];
}

function repeatedCapacities(fields: PoolFields, place: number): readonly SchemaFault[] {
  const all = listCapacities(fields);
  const names = all.map(({ type, per }) => `${type} per ${per}`);
  const listedFrom = all.length - (fields.capacity?.length ?? 0);
  return names.flatMap((name, at) => {
    if (names.indexOf(name) === at) return [];
    const message = `states ${name} a second time; remove one of them`;
    return [{ path: [place, "capacity", at - listedFrom], message }];
  });
}
