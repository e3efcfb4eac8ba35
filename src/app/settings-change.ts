import type { Change } from "../changes/index.ts";
import { type Config, type PreparedSettings, type SettingName, SETTINGS } from "../config/index.ts";

type Facts = NonNullable<Change["after"]>;

/** Settings that changed while the program ran, for the change log: no secret is in it. */
export function settingsChange(
  before: Config,
  { config, changed }: Pick<PreparedSettings, "config" | "changed">,
  variables: readonly string[],
): Change {
  const named = variables.length === 0 ? {} : { secrets_of_files: variables };
  return {
    action: "settings.reload",
    orgId: null,
    target: "settings",
    before: factsOf(before, changed),
    after: { ...factsOf(config, changed), ...named },
    isMaskedChange: true,
  };
}

function factsOf(config: Config, names: readonly SettingName[]): Facts {
  return Object.fromEntries(names.map((name) => [SETTINGS[name].path, shown(config, name)]));
}

function shown(config: Config, name: SettingName): string | number | boolean {
  const { secret } = SETTINGS[name] as { readonly secret?: boolean };
  if (secret !== true) return config[name];
  return config[name] === "" ? "" : "(secret)";
}
