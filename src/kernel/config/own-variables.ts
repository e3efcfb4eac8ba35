import { readPairList } from "./listing-settings.ts";
import {
  type Config,
  environmentName,
  SETTINGS,
  type Setting,
  type SettingName,
} from "./settings.ts";

/**
 * Prefixes of the variables that this program, its database driver, its telemetry or its runtime
 * reads. None of them holds a provider's key, and none of their values may be sent to a provider.
 */
const OWN_PREFIXES = /^(?:TM|TOKENMARKET|PG|DATABASE|OTEL|NODE)_|^PG[A-Z]+$/;

/** True for a variable that holds a setting or a secret of this program, or names the file of one. */
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

/** Returns the values that no log line may contain, judged by the names of their variables. */
export function secretsIn(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => /(?:KEY|SECRET|TOKEN|PASSWORD)$/.test(name) || isSecretSetting(name))
    .flatMap((name) => env[name] ?? []);
}

/** True if a secret setting is read from this variable. */
export function isSecretSetting(name: string): boolean {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  return settings.some(
    ({ path, alsoEnv = [], secret }) =>
      secret === true && (environmentName(path) === name || alsoEnv.includes(name)),
  );
}

/** Returns the values of all secret settings, whether from a flag, the environment or a file. */
export function listSecrets(config: Config): readonly string[] {
  const settings: readonly [string, Setting<unknown>][] = Object.entries(SETTINGS);
  const whole = settings
    .filter(([, { secret }]) => secret === true)
    .map(([name]) => String(config[name as SettingName]));
  return [...whole, ...(readPairList(config.telemetryHeaders)?.values() ?? [])];
}
