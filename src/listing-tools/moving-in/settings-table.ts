import table from "./litellm-settings.json" with { type: "json" };
import type { SettingPath } from "./setting-tree.ts";

/** What becomes of a setting. */
export type Fate = "carried" | "ignored" | "not_carried";

/** Settings of LiteLLM with one answer, as they were reviewed by hand. */
export interface SettingGroup {
  /** The map that has them, with `[]` for the items of a list; "" is the file itself. */
  readonly in: string;
  /** A `*` means any characters. */
  readonly keys: readonly string[];
  readonly fate: Fate;
  readonly what: string;
  /** Of what is carried: what it becomes. */
  readonly why: string;
  /** What to do about it; "" where nothing is to be done. */
  readonly next: string;
  /** Its value may be a secret, wherever in it. */
  readonly secret?: boolean;
}

/** Every reviewed setting, in the order of the documentation. */
export const settingGroups: readonly SettingGroup[] = table.groups as readonly SettingGroup[];

/** Maps and lists whose members are settings of their own. */
const CONTAINERS: ReadonlySet<string> = new Set([
  "",
  "model_list",
  "model_list[]",
  "model_list[].litellm_params",
  "model_list[].model_info",
  "router_settings",
  "litellm_settings",
  "general_settings",
  "environment_variables",
  "keys_file",
  "keys_file.keys",
  "keys_file.keys[]",
  "teams_file",
  "teams_file.teams",
  "teams_file.teams[]",
]);

interface Matcher {
  readonly pattern: RegExp;
  readonly group: SettingGroup;
}

interface Place {
  readonly exact: ReadonlyMap<string, SettingGroup>;
  readonly globs: readonly Matcher[];
}

const places: ReadonlyMap<string, Place> = byPlace();

function byPlace(): ReadonlyMap<string, Place> {
  const made = new Map<string, { exact: Map<string, SettingGroup>; globs: Matcher[] }>();
  for (const group of settingGroups) {
    const place = made.get(group.in) ?? {
      exact: new Map<string, SettingGroup>(),
      globs: [] as Matcher[],
    };
    made.set(group.in, place);
    for (const key of group.keys) {
      if (key.includes("*")) place.globs.push({ pattern: globOf(key), group });
      else place.exact.set(key, group);
    }
  }
  return made;
}

/** The names are of the table, all letters and underscores: nothing in them has to be escaped. */
function globOf(key: string): RegExp {
  return new RegExp(`^${key.replaceAll("*", ".*")}$`, "s");
}

/** The path with `[]` for every position, as the table writes it. */
export function placeOf(path: SettingPath): string {
  return path
    .map((step, at) => (typeof step === "number" ? "[]" : at === 0 ? step : `.${step}`))
    .join("");
}

export function isContainer(path: SettingPath): boolean {
  return CONTAINERS.has(placeOf(path));
}

/** What the table says of the setting at this path; undefined where it does not know it. */
export function findGroup(path: SettingPath): SettingGroup | undefined {
  const key = path.at(-1);
  if (typeof key !== "string") return undefined;
  const place = places.get(placeOf(path.slice(0, -1)));
  return place?.exact.get(key) ?? place?.globs.find(({ pattern }) => pattern.test(key))?.group;
}
