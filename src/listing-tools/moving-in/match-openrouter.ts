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

export function matchModels(
  asked: readonly AskedModel[],
  listed: readonly ListedHere[],
): ModelMatch[] {
  const index = indexListed(listed);
  return asked.map((model) => matchModel(model, index));
}

function matchModel(model: AskedModel, index: ListedIndex): ModelMatch {
  const asked = shortText(model.id, ID_CHARS_MAX);
  const same = index.byId(model.id);
  const found = same ? { listed: same, why: "the same id" } : nearest(model, index);
  if (found !== undefined) {
    const { id, providers } = found.listed;
    const next = same ? "" : `send ${id} from the client, if it is what you want`;
    const kind = same ? "exact" : "nearest";
    return { asked, kind, listing: id, providers, why: found.why, next };
  }
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

/** Tries rules in order, from the smallest change of the name to the largest. */
function nearest(
  { id, canonical }: AskedModel,
  index: ListedIndex,
): { readonly listed: ListedHere; readonly why: string } | undefined {
  const [base = "", variant] = id.split(":");
  if (variant !== undefined) {
    const listed = index.byId(base) ?? index.byPlainName(base);
    const known = Object.hasOwn(variants, variant) ? variants[variant] : undefined;
    const why = `the id without its variant :${shortText(variant, 20)} (${known ?? "unknown here"})`;
    return listed === undefined ? undefined : { listed, why };
  }
  const rules: readonly (readonly [ListedHere | undefined, string])[] = [
    [index.byId(canonical ?? ""), "its permanent name is this id"],
    [index.byPlainName(id), "the same but for dots, case or the date in the name"],
    [index.byOtherName(id), "a provider of this listing calls its model by that name"],
    [index.byNameAlone(id), "the same name under another author: compare the two"],
  ];
  const [found] = rules.flatMap(([listed, why]) => (listed === undefined ? [] : [{ listed, why }]));
  return found;
}

type ListedIndex = ReturnType<typeof indexListed>;

/** An index of listings by name. A name that two listings share finds neither. */
function indexListed(listed: readonly ListedHere[]) {
  const ids = new Map(listed.map((each) => [each.id, each]));
  const plain = unambiguous(listed, ({ id }) => [plainName(id)]);
  const others = unambiguous(listed, ({ otherNames }) => otherNames);
  const alone = unambiguous(listed, ({ id }) => [plainName(nameAlone(id))]);
  return {
    byId: (id: string) => ids.get(id),
    byPlainName: (id: string) => plain.get(plainName(id)),
    byOtherName: (name: string) => others.get(name),
    byNameAlone: (id: string) => alone.get(plainName(nameAlone(id))),
    alike: (id: string): readonly string[] => {
      const family = plainName(nameAlone(id)).split("-").slice(0, 2).join("-");
      if (family === "") return [];
      const isAlike = (each: string): boolean => plainName(nameAlone(each)).startsWith(family);
      return [...ids.keys()].filter(isAlike).slice(0, ALIKE_MAX);
    },
  };
}

const ALIKE_MAX = 3;

function unambiguous(
  listed: readonly ListedHere[],
  namesOf: (each: ListedHere) => readonly string[],
): ReadonlyMap<string, ListedHere | undefined> {
  const found = new Map<string, ListedHere | undefined>();
  for (const each of listed) {
    for (const name of new Set(namesOf(each))) {
      found.set(name, found.has(name) ? undefined : each);
    }
  }
  return found;
}

function nameAlone(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/** Unifies case, dots and underscores, and drops the date: names of one model differ in these. */
function plainName(id: string): string {
  return id
    .toLowerCase()
    .replaceAll(/[._]/g, "-")
    .replace(/-(?:20\d{6}|20\d{2}-\d{2}-\d{2})$/, "");
}
