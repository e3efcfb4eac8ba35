import { shortText } from "./setting-tree.ts";
import table from "./openrouter-fields.json" with { type: "json" };

/** A field of OpenRouter's requests, and what this gateway does with it. */
export interface OpenrouterField {
  /** Where the field is: in the request's object `provider`, or in the request itself. */
  readonly in: "provider" | "body";
  readonly name: string;
  /** `none`: the gateway refuses the field with a message that names it. */
  readonly fate: "as_sent" | "other_name" | "dropped" | "none";
  readonly example: unknown;
  readonly why: string;
  readonly next: string;
}

export const openrouterFields: readonly OpenrouterField[] =
  table.fields as readonly OpenrouterField[];
const variants: Readonly<Record<string, string>> = table.variants;

export interface ListedHere {
  readonly id: string;
  readonly providers: readonly string[];
  /** The providers' names for the model, and names that their answers may report. */
  readonly otherNames: readonly string[];
}

export interface AskedModel {
  readonly id: string;
  /** The permanent name of the model, if OpenRouter's list has one. */
  readonly canonical?: string;
}

export interface ModelMatch {
  readonly asked: string;
  /** `nearest` is only a suggestion: nothing is renamed. */
  readonly kind: "exact" | "nearest" | "none";
  readonly listing: string | null;
  readonly providers: readonly string[];
  readonly why: string;
  readonly next: string;
}

/** Finds the listing of each model: that with the same id, else the nearest one with a reason. */
export function matchModels(
  asked: readonly AskedModel[],
  listed: readonly ListedHere[],
): ModelMatch[] {
  const index = new ListedIndex(listed);
  return asked.map((model) => matchModel(model, index));
}

function matchModel(model: AskedModel, index: ListedIndex): ModelMatch {
  const asked = shortText(model.id, ID_CHARS_MAX);
  const same = index.byId(model.id);
  if (same !== undefined) return matched(asked, same, { kind: "exact", why: "the same id" });
  const near = nearest(model, index);
  if (near !== undefined) return matched(asked, near.listed, { kind: "nearest", why: near.why });
  const alike = index.alike(model.id);
  const hint = alike.length === 0 ? "" : `; ids that begin alike: ${alike.join(", ")}`;
  return {
    asked,
    kind: "none",
    listing: null,
    providers: [],
    why: `no listing has this id, or one that differs from it by a known rule${hint}`,
    next: "add a manifest of its provider: tokenmarket manifest import, or manifest init",
  };
}

const ID_CHARS_MAX = 160;

function matched(
  asked: string,
  { id, providers }: ListedHere,
  how: { readonly kind: "exact" | "nearest"; readonly why: string },
): ModelMatch {
  const next = how.kind === "exact" ? "" : `send ${id} from the client, if it is what you want`;
  return { asked, kind: how.kind, listing: id, providers, why: how.why, next };
}

interface Nearest {
  readonly listed: ListedHere;
  readonly why: string;
}

/** Tries rules in order, from the smallest change of the name to the largest. */
function nearest({ id, canonical }: AskedModel, index: ListedIndex): Nearest | undefined {
  const [base = "", variant] = id.split(":");
  if (variant !== undefined) {
    const listed = index.byId(base) ?? index.byPlainName(base);
    const known = Object.hasOwn(variants, variant) ? variants[variant] : undefined;
    const why = `the id without its variant :${shortText(variant, 20)} (${known ?? "unknown here"})`;
    return listed === undefined ? undefined : { listed, why };
  }
  const permanent = canonical === undefined ? undefined : index.byId(canonical);
  if (permanent !== undefined) return { listed: permanent, why: "its permanent name is this id" };
  const plain = index.byPlainName(id);
  if (plain !== undefined) {
    return { listed: plain, why: "the same but for dots, case or the date in the name" };
  }
  const other = index.byOtherName(id);
  if (other !== undefined) {
    return { listed: other, why: "a provider of this listing calls its model by that name" };
  }
  const alone = index.byNameAlone(id);
  return alone === undefined
    ? undefined
    : { listed: alone, why: "the same name under another author: compare the two" };
}

/** Finds listings by name. A name that two listings share finds neither. */
class ListedIndex {
  readonly #ids: ReadonlyMap<string, ListedHere>;
  readonly #plain: ReadonlyMap<string, ListedHere | "several">;
  readonly #others: ReadonlyMap<string, ListedHere | "several">;
  readonly #alone: ReadonlyMap<string, ListedHere | "several">;

  constructor(listed: readonly ListedHere[]) {
    this.#ids = new Map(listed.map((each) => [each.id, each]));
    this.#plain = unambiguous(listed, (each) => [plainName(each.id)]);
    this.#others = unambiguous(listed, (each) => each.otherNames);
    this.#alone = unambiguous(listed, (each) => [plainName(nameAlone(each.id))]);
  }

  byId(id: string): ListedHere | undefined {
    return this.#ids.get(id);
  }

  byPlainName(id: string): ListedHere | undefined {
    return one(this.#plain.get(plainName(id)));
  }

  byOtherName(name: string): ListedHere | undefined {
    return one(this.#others.get(name));
  }

  byNameAlone(id: string): ListedHere | undefined {
    return one(this.#alone.get(plainName(nameAlone(id))));
  }

  alike(id: string): string[] {
    const family = plainName(nameAlone(id)).split("-").slice(0, 2).join("-");
    if (family === "") return [];
    const ids = [...this.#ids.keys()];
    return ids.filter((each) => plainName(nameAlone(each)).startsWith(family)).slice(0, ALIKE_MAX);
  }
}

const ALIKE_MAX = 3;

function one(found: ListedHere | "several" | undefined): ListedHere | undefined {
  return found === "several" ? undefined : found;
}

function unambiguous(
  listed: readonly ListedHere[],
  namesOf: (each: ListedHere) => readonly string[],
): ReadonlyMap<string, ListedHere | "several"> {
  const found = new Map<string, ListedHere | "several">();
  for (const each of listed) {
    for (const name of new Set(namesOf(each))) {
      found.set(name, found.has(name) ? "several" : each);
    }
  }
  return found;
}

function nameAlone(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/** Removes case, punctuation and the date, in which names of one model often differ. */
function plainName(id: string): string {
  return id
    .toLowerCase()
    .replaceAll(/[._]/g, "-")
    .replace(/-(?:20\d{6}|20\d{2}-\d{2}-\d{2})$/, "");
}
