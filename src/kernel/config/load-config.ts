import { parse as parseYaml } from "yaml";

import { unreachable } from "../core/assert.ts";
import { asNumber, asObject, asText, textOf } from "../json/json-edit.ts";
import { mailProblem, purchasesProblem } from "./console-settings.ts";
import {
  environmentName,
  SETTINGS,
  type Config,
  type Setting,
  type SettingName,
} from "./settings.ts";

export interface ConfigSources {
  readonly flags: Partial<Record<SettingName, string | number | boolean | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Maps a variable `X` to the reason why the file that `X_FILE` names cannot be read. */
  readonly fileProblems?: ReadonlyMap<string, string>;
  readonly yamlText?: string;
  /** The name of the file with `yamlText`, for messages. */
  readonly yamlFile?: string;
}

export type ConfigOutcome =
  | { readonly kind: "loaded"; readonly config: Config }
  /** Each problem is a message for the operator, which names the setting, variable or file. */
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** Flags override the environment, which overrides the file, which overrides the defaults. */
export function loadConfig(sources: ConfigSources): ConfigOutcome {
  const problems: string[] = [];
  const { yamlText, yamlFile = "tokenmarket.yaml" } = sources;
  const file = readYaml(yamlText, yamlFile, problems);
  const config: Record<string, string | number | boolean> = {};
  for (const [name, setting] of Object.entries<Setting<string | number | boolean>>(SETTINGS)) {
    if (setting.secret === true) problems.push(...findFileProblems(setting, sources));
    const found = findValue(name as SettingName, setting, { sources, file, yamlFile });
    file.delete(setting.path);
    if (found === undefined) {
      config[name] = setting.fallback;
      continue;
    }
    const value = readValue(setting, found.value);
    if (value === undefined) {
      problems.push(`${found.where}: ${setting.path} must be ${expectation(setting)}`);
      continue;
    }
    const problem = setting.problem?.(value);
    if (problem !== undefined) problems.push(`${found.where}: ${setting.path} ${problem}`);
    config[name] = value;
  }
  problems.push(...misspelledProblems(sources.env));
  for (const path of file.keys()) {
    problems.push(`${yamlFile}: there is no setting ${path}; see docs/reference/config.md`);
  }
  const read = Object.freeze(config) as unknown as Config;
  // Settings that are valid one by one may still contradict each other.
  if (problems.length === 0) {
    problems.push(...[mailProblem(read), purchasesProblem(read)].flatMap((each) => each ?? []));
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "loaded", config: read };
}

/**
 * Reports variables whose names nearly match a setting, because they would silently have no effect.
 * Other unknown names with TM_ are ignored: guides and other tools use that prefix too.
 */
function misspelledProblems(env: ConfigSources["env"]): readonly string[] {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  const known = settings.flatMap(({ path, secret }) => {
    const name = environmentName(path);
    return secret === true ? [name, `${name}_FILE`] : [name];
  });
  return Object.keys(env)
    .filter((name) => /^TM_[A-Z0-9_]{1,60}$/.test(name) && !known.includes(name))
    .flatMap((name) => {
      const nearest = known.find((each) => isNearly(name, each));
      return nearest === undefined
        ? []
        : [`${name}: there is no setting of this name; write ${nearest}, or remove it`];
    });
}

/**
 * If a setting's variable has fewer characters than this, only swapped characters count as a
 * misspelling: `TM_DATE`, which resembles `TM_DATA`, may be a variable of another tool.
 */
const SHORT_NAME_CHARS = 8;

/** True if one character is added, missing or replaced, or if two neighbors are swapped. */
function isNearly(name: string, other: string): boolean {
  if (Math.abs(name.length - other.length) > 1) return false;
  let start = 0;
  while (start < name.length && name[start] === other[start]) start += 1;
  const [a, b] = [name.slice(start), other.slice(start)];
  if (a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2)) return true;
  if (other.length < SHORT_NAME_CHARS) return false;
  return a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}

function findFileProblems(
  { path, alsoEnv = [] }: Setting<unknown>,
  { fileProblems }: ConfigSources,
): readonly string[] {
  return [environmentName(path), ...alsoEnv].flatMap((name) => fileProblems?.get(name) ?? []);
}

function findValue(
  name: SettingName,
  setting: Setting<unknown>,
  from: { sources: ConfigSources; file: ReadonlyMap<string, unknown>; yamlFile: string },
): { value: unknown; where: string } | undefined {
  const flagged = from.sources.flags[name];
  if (flagged !== undefined) return { value: flagged, where: "command line" };
  for (const env of [environmentName(setting.path), ...(setting.alsoEnv ?? [])]) {
    const value = from.sources.env[env];
    if (value !== undefined && value !== "") return { value, where: env };
  }
  if (!from.file.has(setting.path)) return undefined;
  return { value: from.file.get(setting.path), where: from.yamlFile };
}

function readYaml(
  text: string | undefined,
  name: string,
  problems: string[],
): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  if (text === undefined) return flat;
  try {
    const settings = asObject(parseYaml(text) ?? {});
    // Without this check, a file with `port 9000` and no colon would silently change nothing.
    if (settings !== undefined) flatten(settings, "", flat);
    else problems.push(`${name} must have settings, each as \`name: value\``);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    problems.push(`${name} is not valid YAML: ${reason}`);
  }
  return flat;
}

function flatten(value: unknown, path: string, into: Map<string, unknown>): void {
  // A group is null if all of its settings are commented out.
  if (value === null && GROUPS.has(path)) return;
  const group = asObject(value);
  if (group === undefined && path !== "") into.set(path, value);
  for (const [key, inner] of Object.entries(group ?? {})) {
    flatten(inner, path === "" ? key : `${path}.${key}`, into);
  }
}

const GROUPS: ReadonlySet<string> = new Set(
  Object.values<Setting<unknown>>(SETTINGS).flatMap(({ path }) => path.split(".").slice(0, -1)),
);

function readValue(setting: Setting<unknown>, raw: unknown): string | number | boolean | undefined {
  switch (setting.kind) {
    case "string":
      return asText(raw);
    case "base":
      return asText(raw)?.replace(/\/+$/, "");
    case "level":
      return LOG_LEVELS.find((level) => level === raw);
    case "boolean":
      if (raw === true || raw === "1" || raw === "true") return true;
      return raw === false || raw === "0" || raw === "false" ? false : undefined;
    case "integer": {
      const written = /^\d{1,15}$/.exec(textOf(raw))?.[0];
      const value = asNumber(written === undefined ? raw : Number(written)) ?? Number.NaN;
      const { min = 0, max = Number.MAX_SAFE_INTEGER } = setting;
      return Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined;
    }
    default:
      return unreachable(setting.kind);
  }
}

function expectation(setting: Setting<unknown>): string {
  switch (setting.kind) {
    case "string":
    case "base":
      return "a string";
    case "level":
      return `one of ${LOG_LEVELS.join(", ")}`;
    case "boolean":
      return "true or false (1 or 0)";
    case "integer": {
      const { min = 0, max } = setting;
      return max === undefined
        ? `a whole number, at least ${min}`
        : `a whole number from ${min} to ${max}`;
    }
    default:
      return unreachable(setting.kind);
  }
}
