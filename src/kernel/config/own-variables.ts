import { readPairList } from "./listing-settings.ts";
import {
  type Config,
  environmentName,
  SETTINGS,
  type Setting,
  type SettingName,
} from "./settings.ts";

/**
 * Prefixes of variables that this program, its database driver, its telemetry or its runtime reads.
 * None of these variables contains a provider's key, and none may be sent to a provider.
 */
const OWN_PREFIXES = /^(?:TM|TOKENMARKET|PG|DATABASE|OTEL|NODE)_|^PG[A-Z]+$/;

const ALL_SETTINGS = Object.entries<Setting<unknown>>(SETTINGS);
const OWN_NAMES: ReadonlySet<string> = new Set(
  ALL_SETTINGS.flatMap(([, { alsoEnv = [] }]) => alsoEnv),
);

/** True for names with one of the prefixes, and for other names of settings, also with `_FILE`. */
export function isOwnVariable(name: string): boolean {
  return OWN_PREFIXES.test(name) || OWN_NAMES.has(name.replace(/_FILE$/, ""));
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the values that no log line may contain; a variable's name shows that it is secret. */
export function secretsIn(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => /(?:KEY|SECRET|TOKEN|PASSWORD)$/.test(name) || isSecretSetting(name))
    .flatMap((name) => env[name] ?? []);
}

export function isSecretSetting(name: string): boolean {
  return ALL_SETTINGS.some(
    ([, { path, alsoEnv = [], secret }]) =>
      secret === true && (environmentName(path) === name || alsoEnv.includes(name)),
  );
}

export function listSecrets(config: Config): readonly string[] {
  const whole = ALL_SETTINGS.filter(([, { secret }]) => secret === true).map(([name]) =>
    String(config[name as SettingName]),
  );
  return [...whole, ...(readPairList(config.telemetryHeaders)?.values() ?? [])];
}
