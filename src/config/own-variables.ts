import { SETTINGS, type Setting } from "./settings.ts";

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
