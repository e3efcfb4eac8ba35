import { readFileSync } from "node:fs";

import { parse as parseYaml } from "yaml";

import type {
  CapacityDeclaration,
  CatalogIssue,
  StatedPool,
  StatedPools,
} from "../catalog/index.ts";

export type ReadPools =
  | { readonly ok: true; readonly pools: StatedPools }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

/** Reads an operator's pool file: the pools it states, or everything that is wrong with it. */
export function readPoolsFile(file: string): ReadPools {
  let document: unknown;
  try {
    document = parseYaml(readFileSync(file, "utf8"));
  } catch (fault) {
    return { ok: false, issues: [{ file, pointer: "", message: unreadableReason(fault) }] };
  }
  const issues: CatalogIssue[] = [];
  const report = (pointer: string, message: string): void =>
    void issues.push({ file, pointer, message });
  if (!Array.isArray(document)) report("", "must be a list of pools; write [] for none");
  const pools = readAll(document, { pointer: "", report }, readPool);
  return issues.length === 0 ? { ok: true, pools: { file, pools } } : { ok: false, issues };
}

/** A value's location, and where its problems are reported. */
interface Place {
  /** JSON pointer into the file. */
  readonly pointer: string;
  readonly report: (pointer: string, message: string) => void;
}

/* Any reported problem refuses the whole file, so what a wrong field is read as does not matter. */
function readPool(value: unknown, place: Place): StatedPool {
  const fields = new Fields(value, place, POOL_FIELDS);
  const share = fields.choice("org_share", ["half", "three_quarters"]);
  const tokensPerMinute = fields.count("tokens_per_minute");
  const requestsPerSecond = fields.count("requests_per_second");
  const concurrent = fields.count("concurrent");
  return {
    id: fields.text("id", POOL_ID, "must be 1 to 64 of a-z, 0-9, - and _, a letter or digit first"),
    listings: fields.list("listings", readListing),
    ...(share !== undefined && { orgSharePercent: share === "half" ? 50 : 75 }),
    capacity: readCapacities(fields),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(concurrent !== undefined && { concurrent }),
  };
}

function readListing(value: unknown, { pointer, report }: Place): string {
  if (typeof value === "string" && LISTING.test(value)) return value;
  report(
    pointer,
    "must be <provider id>/<model id>, or <provider id>/* for all listings of a provider",
  );
  return "";
}

/** Requests per minute are a declared capacity like any other; the short field is for people. */
function readCapacities(fields: Fields): readonly CapacityDeclaration[] {
  const requestsPerMinute = fields.count("requests_per_minute");
  const short: readonly CapacityDeclaration[] =
    requestsPerMinute === undefined
      ? []
      : [{ type: "request", per: "minute", value: requestsPerMinute }];
  const stated = new Set(short.map(nameOf));
  const listed = fields.list("capacity", (value, place) => {
    const capacity = readCapacity(value, place);
    const name = nameOf(capacity);
    if (stated.has(name))
      place.report(place.pointer, `states ${name} a second time; remove one of them`);
    stated.add(name);
    return capacity;
  });
  return [...short, ...listed];
}

function readCapacity(value: unknown, place: Place): CapacityDeclaration {
  const fields = new Fields(value, place, CAPACITY_FIELDS);
  return {
    type: fields.choice("type", ["request", "prompt", "completion"]) ?? "request",
    per: fields.choice("per", ["minute", "hour", "day"]) ?? "minute",
    value: fields.count("value") ?? 1,
  };
}

function nameOf({ type, per }: CapacityDeclaration): string {
  return `${type} per ${per}`;
}

const POOL_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const LISTING = /^[a-z0-9][a-z0-9-]{1,62}\/(?:\*|[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127})$/;

interface FieldNames {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

const POOL_FIELDS: FieldNames = {
  required: ["id", "listings"],
  optional: [
    "org_share",
    "requests_per_minute",
    "tokens_per_minute",
    "requests_per_second",
    "concurrent",
    "capacity",
  ],
};
const CAPACITY_FIELDS: FieldNames = { required: ["type", "per", "value"], optional: [] };

/** An object of the file. A field that is absent and may be reads as undefined, or an empty list. */
class Fields {
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #place: Place;

  constructor(value: unknown, place: Place, { required, optional }: FieldNames) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    this.#values = new Map(isObject ? Object.entries(value) : []);
    this.#place = place;
    const names = [...required, ...optional];
    for (const name of this.#values.keys()) {
      if (names.includes(name)) continue;
      place.report(
        this.#pointerTo(name),
        `is not a known field; the fields are ${names.join(", ")}`,
      );
    }
    if (!isObject) place.report(place.pointer, `must have the fields ${required.join(", ")}`);
    const missing = isObject ? required.filter((name) => !this.#values.has(name)) : [];
    for (const name of missing) place.report(this.#pointerTo(name), "is missing");
  }

  /** A whole number above 0. */
  count(name: string): number | undefined {
    const value = this.#values.get(name);
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    this.#mustBe(name, "must be a whole number above 0");
    return undefined;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.#values.get(name);
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) this.#mustBe(name, `must be one of ${choices.join(", ")}`);
    return chosen;
  }

  text(name: string, form: RegExp, rule: string): string {
    const value = this.#values.get(name);
    if (typeof value === "string" && form.test(value)) return value;
    this.#mustBe(name, rule);
    return "";
  }

  /** At least one of these. */
  list<T>(name: string, read: (value: unknown, place: Place) => T): readonly T[] {
    const value = this.#values.get(name);
    if (!Array.isArray(value) || value.length === 0)
      this.#mustBe(name, "must be a list with at least one entry");
    return readAll(value, { ...this.#place, pointer: this.#pointerTo(name) }, read);
  }

  /** A field that is absent was reported already where it is required. */
  #mustBe(name: string, rule: string): void {
    if (this.#values.has(name)) this.#place.report(this.#pointerTo(name), rule);
  }

  #pointerTo(name: string): string {
    const escaped = name.replaceAll("~", "~0").replaceAll("/", "~1");
    return `${this.#place.pointer}/${escaped}`;
  }
}

function readAll<T>(
  value: unknown,
  { pointer, report }: Place,
  read: (value: unknown, place: Place) => T,
): readonly T[] {
  if (!Array.isArray(value)) return [];
  return value.map((each, at) => read(each, { pointer: `${pointer}/${at}`, report }));
}

function unreadableReason(fault: unknown): string {
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : "";
  if (code === "ENOENT") {
    return "there is no such file; create it, or name another with pools_file (TM_POOLS_FILE)";
  }
  // Codes of the file system are like EACCES, those of the parser like BAD_INDENT.
  if (/^E[A-Z]+$/.test(code)) return `it cannot be read (${code})`;
  const reason = fault instanceof Error ? fault.message.split("\n")[0] : String(fault);
  return `it is not YAML: ${reason}`;
}
