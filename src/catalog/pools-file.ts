import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { parse as parseYaml } from "yaml";

import { pointerTo } from "../json/index.ts";
import type { CatalogIssue } from "./catalog-input.ts";
import type { CapacityDeclaration } from "./catalog.ts";
import type { StatedPool, StatedPools } from "./compile-pools.ts";

export type ParsedPools =
  | { readonly ok: true; readonly pools: StatedPools }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

/** A pool as the file has it. */
interface PoolEntry {
  readonly id: string;
  readonly listings: readonly string[];
  readonly org_share?: "half" | "three_quarters";
  /** Short for a capacity. */
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly requests_per_second?: number;
  readonly concurrent?: number;
  readonly capacity?: readonly CapacityDeclaration[];
}

/** The pools of an operator's pool file, or everything that is wrong with it. */
export function parsePoolsFile(file: string, text: string): ParsedPools {
  let document: unknown;
  try {
    document = parseYaml(text);
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message.split("\n")[0] : String(fault);
    return { ok: false, issues: [{ file, pointer: "", message: `it is not YAML: ${reason}` }] };
  }
  compiled ??= new Ajv2020({ allErrors: true, verbose: true }).compile(POOLS);
  const isValid = compiled(document);
  const found = (compiled.errors ?? []).map((error) => ({ file, ...problemOf(error) }));
  // A text of the wrong type breaks its pattern too: once is enough.
  const issues = [...new Map(found.map((issue) => [issue.pointer, issue])).values()];
  if (!isValid) return { ok: false, issues };
  const entries = document as readonly PoolEntry[];
  const repeated = entries.flatMap((entry, at) => repeatedCapacities(file, entry, at));
  if (repeated.length > 0) return { ok: false, issues: repeated };
  return { ok: true, pools: { file, pools: entries.map(statedPool) } };
}

function statedPool(entry: PoolEntry): StatedPool {
  const { tokens_per_minute: tokensPerMinute, requests_per_second: requestsPerSecond } = entry;
  const { id, listings, org_share: share, concurrent } = entry;
  return {
    id,
    listings,
    ...(share !== undefined && { orgSharePercent: share === "half" ? 50 : 75 }),
    capacity: capacitiesOf(entry),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(concurrent !== undefined && { concurrent }),
  };
}

function capacitiesOf(entry: PoolEntry): readonly CapacityDeclaration[] {
  const { requests_per_minute: value, capacity = [] } = entry;
  return value === undefined ? capacity : [{ type: "request", per: "minute", value }, ...capacity];
}

function repeatedCapacities(file: string, entry: PoolEntry, at: number): readonly CatalogIssue[] {
  const names = capacitiesOf(entry).map(({ type, per }) => `${type} per ${per}`);
  const shorts = names.length - (entry.capacity ?? []).length;
  return names.flatMap((name, index) => {
    if (names.indexOf(name) === index) return [];
    const pointer = pointerTo([String(at), "capacity", String(index - shorts)]);
    return [{ file, pointer, message: `states ${name} a second time; remove one of them` }];
  });
}

/** A part of the file; `description` says what it must be. */
interface Rule {
  readonly type: string;
  readonly description: string;
  readonly properties?: Readonly<Record<string, Rule>>;
  readonly [keyword: string]: unknown;
}

const COUNT: Rule = {
  type: "integer",
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "must be a whole number above 0",
};

const POOLS: Rule = {
  type: "array",
  description: "must be a list of pools; write [] for none",
  items: fields(["id", "listings"], {
    id: matching(
      "^[a-z0-9][a-z0-9_-]{0,63}$",
      "must be 1 to 64 of a-z, 0-9, - and _, a letter or digit first",
    ),
    listings: someOf(
      matching(
        "^[a-z0-9][a-z0-9-]{1,62}/(?:\\*|[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127})$",
        "must be <provider id>/<model id>, or <provider id>/* for all listings of a provider",
      ),
    ),
    org_share: oneOf("half", "three_quarters"),
    requests_per_minute: COUNT,
    tokens_per_minute: COUNT,
    requests_per_second: COUNT,
    concurrent: COUNT,
    capacity: someOf(
      fields(["type", "per", "value"], {
        type: oneOf("request", "prompt", "completion"),
        per: oneOf("minute", "hour", "day"),
        value: COUNT,
      }),
    ),
  }),
};

let compiled: ValidateFunction | undefined;

function fields(required: readonly string[], properties: Readonly<Record<string, Rule>>): Rule {
  const description = `must have the fields ${required.join(", ")}`;
  return { type: "object", required, properties, additionalProperties: false, description };
}

function matching(pattern: string, description: string): Rule {
  return { type: "string", pattern, description };
}

function oneOf(...words: readonly string[]): Rule {
  return { type: "string", enum: words, description: `must be one of ${words.join(", ")}` };
}

function someOf(items: Rule): Rule {
  const description = "must be a list with at least one entry";
  return { type: "array", minItems: 1, items, description };
}

function problemOf(error: ErrorObject): Omit<CatalogIssue, "file"> {
  const { description, properties = {} } = error.parentSchema as Rule;
  const pointer = error.instancePath;
  const { missingProperty, additionalProperty } = error.params as Readonly<Record<string, string>>;
  if (missingProperty !== undefined) {
    return { pointer: pointer + pointerTo([missingProperty]), message: "is missing" };
  }
  if (additionalProperty === undefined) return { pointer, message: description };
  const message = `is not a known field; the fields are ${Object.keys(properties).join(", ")}`;
  return { pointer: pointer + pointerTo([additionalProperty]), message };
}
