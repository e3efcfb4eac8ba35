import table from "./litellm-settings.json" with { type: "json" };
import { asText, matchesGlob, type RawJson } from "../../kernel/index.ts";
import { asList, asMap, isEmpty, pathText, type SettingPath } from "./setting-tree.ts";

export interface MoveNote {
  /** Path of the setting, such as `model_list[2].litellm_params.rpm`. */
  readonly path: string;
  readonly fate: Fate;
  readonly what: string;
  readonly why: string;
  readonly next: string;
}

type Said = Partial<Pick<MoveNote, "what" | "why" | "next">>;

/** Collects the importer's decisions; the reviewed table decides about all other settings. */
export class Fates {
  readonly #said = new Map<string, Said & { readonly fate: Fate }>();

  /** A text in `said` replaces that of the reviewed table (`litellm-settings.json`). */
  carried(path: SettingPath, said: Said = {}): void {
    this.#say(path, "carried", said);
  }

  ignored(path: SettingPath, said: Said = {}): void {
    this.#say(path, "ignored", said);
  }

  notCarried(path: SettingPath, said: Said): void {
    this.#say(path, "not_carried", said);
  }

  find(path: SettingPath): (Said & { readonly fate: Fate }) | undefined {
    return this.#said.get(JSON.stringify(path));
  }

  /** A later decision replaces an earlier one: a whole entry may have to be dropped. */
  #say(path: SettingPath, fate: Fate, said: Said): void {
    this.#said.set(JSON.stringify(path), { ...said, fate });
  }
}

/** One note per setting, or for the map or list around it. Decisions override the table. */
export function listNotes(tree: RawJson, root: SettingPath, fates: Fates): MoveNote[] {
  const said = fates.find(root);
  if (root.length > 0) {
    const note = noteHere(tree, root, said);
    if (note !== undefined) return [note];
  }
  const members = asList(tree)?.entries() ?? asMap(tree)?.entries() ?? [];
  return [...members].flatMap(([step, each]) => listNotes(each, [...root, step], fates));
}

/** The note of the setting at `path`. Undefined if its members get notes instead. */
function noteHere(
  value: RawJson,
  path: SettingPath,
  said: ReturnType<Fates["find"]>,
): MoveNote | undefined {
  const group = findGroup(path);
  if (said !== undefined) {
    const { fate, what, why, next } = said;
    const known = group?.fate === fate ? group : undefined;
    return {
      path: pathText(path),
      fate,
      what: what ?? group?.what ?? "a setting",
      why: why ?? known?.why ?? "",
      next: next ?? known?.next ?? "",
    };
  }
  const note = CONTAINERS.has(toTablePath(path))
    ? containerNote(value, toTablePath(path))
    : tableNote(value, group);
  return note && { path: pathText(path), ...note };
}

type NoteTexts = Omit<MoveNote, "path">;

function containerNote(value: RawJson, place: string): NoteTexts | undefined {
  if (isEmpty(value)) return { fate: "ignored", what: "a section", why: "it is empty", next: "" };
  const wanted = LISTS.has(place) ? "list" : "map";
  if ((wanted === "list" ? asList : asMap)(value) !== undefined) return undefined;
  return {
    fate: "not_carried",
    what: "a section",
    why: `it is not a ${wanted}, so nothing in it could be read`,
    next: "correct the file and import it again",
  };
}

const LISTS: ReadonlySet<string> = new Set(["model_list", "keys_file.keys", "teams_file.teams"]);

const UNKNOWN: NoteTexts = {
  fate: "not_carried",
  what: "a setting that this importer does not know",
  why: "it is not among the settings of LiteLLM that were reviewed",
  next: "read what it does in LiteLLM's documentation; docs/reference/config.md has the settings here",
};

function tableNote(value: RawJson, group: SettingGroup | undefined): NoteTexts {
  const { fate, what, why, next } = group ?? UNKNOWN;
  if (fate !== "carried") return { fate, what, why, next };
  if (isEmpty(value)) return { fate: "ignored", what, why: "it is empty", next: "" };
  // The table says that the setting can be carried, but the importer could not use this value.
  return {
    fate: "not_carried",
    what,
    why: "its value could not be used here",
    next: "check the value, or set it by hand in the result",
  };
}

type Fate = "carried" | "ignored" | "not_carried";

interface SettingGroup {
  /** Path of the map with the keys, `[]` for items of a list; "" is the top of the file. */
  readonly in: string;
  /** Names of settings. A `*` in a name matches any characters. */
  readonly keys: readonly string[];
  readonly fate: Fate;
  readonly what: string;
  /** Says what the setting becomes if it is carried over, and otherwise why it is not. */
  readonly why: string;
  readonly next: string;
}

/** A group as the table has it. Only a setting that is not carried over has a `next`. */
type WrittenGroup = Omit<SettingGroup, "in" | "next"> & { readonly next?: string };

const groupsByPlace = table as Readonly<Record<string, readonly WrittenGroup[]>>;

export const settingGroups: readonly SettingGroup[] = Object.entries(groupsByPlace).flatMap(
  ([place, groups]) => groups.map((group) => ({ in: place, next: "", ...group })),
);

/** Maps and lists whose members each get a note. */
const CONTAINERS: ReadonlySet<string> = new Set([...LISTS, ...Object.keys(groupsByPlace)]);

const isGlob = (key: string): boolean => key.includes("*");
/** By place, blank and name of a setting, because no name in the table contains a blank. */
const exact: ReadonlyMap<string, SettingGroup> = new Map(
  settingGroups.flatMap((group) => {
    const names = group.keys.filter((key) => !isGlob(key));
    return names.map((name) => [`${group.in} ${name}`, group] as const);
  }),
);
const globs = settingGroups.flatMap((group) =>
  group.keys.filter(isGlob).map((glob) => ({ glob, group })),
);

function toTablePath(path: SettingPath): string {
  return pathText(path).replaceAll(/\[\d+\]/g, "[]");
}

function findGroup(path: SettingPath): SettingGroup | undefined {
  const key = asText(path.at(-1));
  if (key === undefined) return undefined;
  const place = toTablePath(path.slice(0, -1));
  const isMatch = (each: (typeof globs)[number]): boolean =>
    each.group.in === place && matchesGlob(each.glob, key);
  return exact.get(`${place} ${key}`) ?? globs.find(isMatch)?.group;
}
