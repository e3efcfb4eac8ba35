import { stringify } from "yaml";

import type { Manifest } from "../../catalog/index.ts";
import { asText, type RawJson } from "../../kernel/index.ts";
import { isModelId } from "../listing-sources/entry-rules.ts";
import { buildManifests, type MovedListing } from "./build-manifests.ts";
import { accountCommands, type PlannedCommand, renderScript } from "./commands.ts";
import { Fates, type MoveNote, listNotes } from "./fates.ts";
import { KeyNames, looksSecret, findSecrets, withoutSecrets } from "./key-names.ts";
import {
  exportTree,
  KEYS_ROOT,
  planAccounts,
  type PlannedOrg,
  TEAMS_ROOT,
} from "./plan-accounts.ts";
import {
  type PlannedPool,
  type PlannedSetting,
  planPools,
  planSettings,
  planManifestSettings,
} from "./plan-settings.ts";
import type { ListingFinder } from "./price-listing.ts";
import { type MovedDeployment, readDeployments } from "./read-deployments.ts";
import { asMap, settingAt, shortText } from "./setting-tree.ts";

export interface MoveInput {
  readonly config: RawJson;
  /** The answers of LiteLLM's `/key/list` and `/team/list`; undefined if the operator gave none. */
  readonly keys?: RawJson;
  readonly teams?: RawJson;
  readonly nowMs: number;
  readonly finder: ListingFinder;
  /** True if this program itself reads a setting or a secret from the variable. */
  readonly isOwnVariable: (name: string) => boolean;
  /** The value of an environment variable from which the configuration takes an address. */
  readonly addressOf: (envName: string) => string | undefined;
  /** Why the program would refuse a setting; undefined if it accepts it. */
  readonly settingProblem: (planned: PlannedSetting) => string | undefined;
}

export interface MovedConfig {
  readonly manifests: readonly Manifest[];
  readonly listings: readonly MovedListing[];
  readonly pools: readonly PlannedPool[];
  readonly settings: readonly PlannedSetting[];
  readonly orgs: readonly PlannedOrg[];
  readonly commands: readonly PlannedCommand[];
  readonly notes: readonly MoveNote[];
}

/**
 * Plans the move of a LiteLLM configuration. In `notes`, each of its settings has exactly one note:
 * its own, or that of a map or list that contains it.
 */
export function moveLitellm(input: MoveInput): MovedConfig {
  const { config, finder, addressOf, settingProblem, nowMs } = input;
  const keys = input.keys === undefined ? undefined : exportTree(input.keys, "keys");
  const teams = input.teams === undefined ? undefined : exportTree(input.teams, "teams");
  const secrets = findSecrets([config, keys, teams].flatMap((tree) => tree ?? []));
  const fates = new Fates();
  const keyNames = new KeyNames(input.isOwnVariable);
  const { shippedIds } = finder;
  const read = readDeployments({ config, fates, keyNames, addressOf, secrets, shippedIds });
  const { manifests, listings } = buildManifests(withAliases(config, read, fates), finder, fates);
  const orgs = planAccounts({ keys, teams, fates, nowMs });
  const pools = planPools(listings);
  const settings = [
    ...planSettings(config, fates, settingProblem),
    ...planManifestSettings(manifests),
    ...(pools.length === 0 ? [] : [{ setting: "pools_file", value: "pools.yaml" }]),
  ];
  const notes = [
    ...listNotes(config, [], fates),
    ...(keys === undefined ? [] : listNotes(keys, [KEYS_ROOT], fates)),
    ...(teams === undefined ? [] : listNotes(teams, [TEAMS_ROOT], fates)),
  ];
  return {
    manifests,
    listings,
    pools,
    settings,
    orgs,
    commands: accountCommands(orgs),
    notes: withoutSecrets(notes, secrets),
  };
}

const ALIAS_MAPS = [
  ["router_settings", "model_group_alias"],
  ["litellm_settings", "model_alias_map"],
] as const;

function withAliases(
  config: RawJson,
  deployments: readonly MovedDeployment[],
  fates: Fates,
): MovedDeployment[] {
  const aliases = new Map<string, string[]>();
  const aliased = new Set<string>();
  const names = new Set(deployments.map(({ names: [name = ""] }) => name));
  const group = settingAt(settingAt(config, "router_settings"), "model_group_alias");
  for (const [section, field] of ALIAS_MAPS) {
    const map = asMap(settingAt(settingAt(config, section), field));
    if (map === undefined) continue;
    const lost: string[] = [];
    for (const [alias, value] of map) {
      const first = readTarget(value);
      // LiteLLM looks for the target of `model_alias_map` among the aliases of the router.
      const next =
        field === "model_alias_map" ? readTarget(settingAt(group, first ?? "")) : undefined;
      const target = next ?? first;
      if (target !== undefined && target !== alias) aliased.add(alias);
      if (target === undefined || !names.has(target) || !isId(alias)) lost.push(shortText(alias));
      else aliases.set(target, [...(aliases.get(target) ?? []), alias]);
    }
    if (lost.length === 0) fates.carried([section, field]);
    else fates.notCarried([section, field], lostAliases(lost, map.size));
  }
  return deployments.flatMap((deployment) => {
    const [name = ""] = deployment.names;
    // LiteLLM looks for an alias before it looks for a model of that name.
    const own = aliased.has(name) ? [] : [name];
    const all = [...new Set([...own, ...(aliases.get(name) ?? [])])];
    if (all.length > 0) return [{ ...deployment, names: all }];
    const why = "its name is an alias of another model, so LiteLLM sends no request to it";
    fates.ignored(deployment.path, { what: `the model ${shortText(name)}`, why });
    return [];
  });
}

/** LiteLLM writes an alias as a model name, or as a map that hides the alias from lists. */
function readTarget(value: RawJson | undefined): string | undefined {
  return asText(asMap(value) === undefined ? value : settingAt(value, "model"));
}

/** A text that looks like a key must not become the id of a listing. */
function isId(alias: string): boolean {
  return isModelId(alias) && !looksSecret(alias);
}

const NAMED_MAX = 20;

function lostAliases(lost: readonly string[], all: number): { why: string; next: string } {
  const rest = lost.length > NAMED_MAX ? `, and ${lost.length - NAMED_MAX} more` : "";
  return {
    why:
      `${lost.length} of ${all} aliases name a model that is not moved, or are not an id here: ` +
      `${lost.slice(0, NAMED_MAX).join(", ")}${rest}; the others are listed`,
    next: "list them by hand, or change the names in the clients",
  };
}

/** `path` is relative to the target folder. */
export interface MovedFile {
  readonly path: string;
  readonly text: string;
  readonly isScript: boolean;
}

/** The files of a translated configuration. The same `moved` gives the same bytes. */
export function renderFiles(moved: MovedConfig): MovedFile[] {
  const { manifests, pools, settings, notes, listings, commands } = moved;
  const lines = Object.fromEntries(settings.map(({ setting, value }) => [setting, value]));
  return [
    ...manifests.map((manifest) => file(`manifests/${manifest.provider.id}.json`, json(manifest))),
    ...(settings.length === 0 ? [] : [file("tokenmarket.yaml", stringify(lines))]),
    ...(pools.length === 0 ? [] : [file("pools.yaml", stringify(pools))]),
    ...(commands.length === 0 ? [] : [file("accounts.sh", renderScript(commands), true)]),
    file("moving-in.json", json({ listings, notes })),
  ];
}

function file(path: string, text: string, isScript = false): MovedFile {
  return { path, text, isScript };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
