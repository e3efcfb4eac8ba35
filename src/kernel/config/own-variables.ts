import { readPairList } from "./listing-settings.ts";
import {
  type Config,
  environmentName,
  SETTINGS,
  type Setting,
  type SettingName,
} from "./settings.ts";

/**
 * Prefixes of variables that this program, its database driver, its telemetry or its runtime reads:
 * a provider's key is in none of them, and what is in them belongs to no provider.
 */
const OWN_PREFIXES = /^(?:TM|TOKENMARKET|PG|DATABASE|OTEL|NODE)_|^PG[A-Z]+$/;

/** Whether a variable holds a setting or a secret of this program, or the file of one. */
export function isOwnVariable(name: string): boolean {
  return OWN_PREFIXES.test(name) || ownNames().has(name.replace(/_FILE$/, ""));
}

let names: ReadonlySet<string> | undefined;

function ownNames(): ReadonlySet<string> {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  names ??= new Set(settings.flatMap(({ alsoEnv = [] }) => alsoEnv));
  return names;
}

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Values of an environment that no log line may have, by the names of their variables. */
export function secretsIn(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => /(?:KEY|SECRET|TOKEN|PASSWORD)$/.test(name) || isSecretSetting(name))
    .flatMap((name) => env[name] ?? []);
}

/** Whether a secret setting is read from this variable. */
export function isSecretSetting(name: string): boolean {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  return settings.some(
    ({ path, alsoEnv = [], secret }) =>
      secret === true && (environmentName(path) === name || alsoEnv.includes(name)),
  );
}

/** Secret values of settings, of whatever source: a file has them too. */
export function listSecrets(config: Config): readonly string[] {
  const settings: readonly [string, Setting<unknown>][] = Object.entries(SETTINGS);
  const whole = settings
    .filter(([, { secret }]) => secret === true)
    .map(([name]) => String(config[name as SettingName]));
  return [...whole, ...(readPairList(config.telemetryHeaders)?.values() ?? [])];
}
