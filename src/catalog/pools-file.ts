import { type Static, type TArray, type TSchema, type TUnsafe, Type } from "typebox";
import { parse as parseYaml } from "yaml";

import { pointerTo, type SchemaFault, schemaFaults } from "../kernel/index.ts";
import type { CatalogIssue } from "./catalog-input.ts";
import type { CapacityDeclaration } from "./catalog.ts";
import type { StatedPool, StatedPools } from "./compile-pools.ts";

export type ParsedPools =
  | { readonly ok: true; readonly pools: StatedPools }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

/** The pools of an operator's pool file, or everything that is wrong with it. */
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
  return { ok: true, pools: { file, pools: pools.map(poolOf) } };
}

const count = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "a whole number above 0",
});

function choice<const T extends readonly string[]>(...choices: T): TUnsafe<T[number]> {
  return Type.Unsafe({ enum: choices, description: `one of ${choices.join(", ")}` });
}

function listOf<S extends TSchema>(entry: S): TArray<S> {
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
    listings: listOf(
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
    capacity: Type.Optional(listOf(capacity)),
  },
  { additionalProperties: false, description: "an object with the fields id, listings" },
);
type PoolFields = Static<typeof pool>;

const poolFaults = schemaFaults(
  Type.Array(pool, { description: "a list of pools; write [] for none" }),
  { missing: "is missing", unknown: "is not a known field; the fields are {names}" },
);

function poolOf(fields: PoolFields): StatedPool {
  const { org_share: share, concurrent } = fields;
  const { tokens_per_minute: tokensPerMinute, requests_per_second: requestsPerSecond } = fields;
  return {
    id: fields.id,
    listings: fields.listings,
    ...(share !== undefined && { orgSharePercent: share === "half" ? 50 : 75 }),
    capacity: capacitiesOf(fields),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(concurrent !== undefined && { concurrent }),
  };
}

/** Requests per minute are a declared capacity like any other; the short field is for people. */
function capacitiesOf(fields: PoolFields): readonly CapacityDeclaration[] {
  const { requests_per_minute: value, capacity: listed = [] } = fields;
  return value === undefined ? listed : [{ type: "request", per: "minute", value }, ...listed];
}

function repeatedCapacities(fields: PoolFields, place: number): readonly SchemaFault[] {
  const all = capacitiesOf(fields);
  const names = all.map(({ type, per }) => `${type} per ${per}`);
  const listedFrom = all.length - (fields.capacity?.length ?? 0);
  return names.flatMap((name, at) =>
    names.indexOf(name) === at
      ? []
      : [
          {
            path: [place, "capacity", at - listedFrom],
            message: `states ${name} a second time; remove one of them`,
          },
        ],
  );
}
