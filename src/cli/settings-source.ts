import type { Config } from "../config/index.ts";
import type { SettingsSource } from "../app/index.ts";
import {
  configOf,
  type Flags,
  readConfig,
  readSettingsFile,
  type SecretSource,
  settingsFileOf,
} from "./command-context.ts";

/** How a server reads its settings: at the start, and again while it runs. */
export interface ServerSettings extends SettingsSource {
  /** Throws a `UsageFault` with everything that is wrong. */
  readAtStart(secrets: SecretSource): Config;
}

/** `change`: what this process makes of what it read, each time. */
export function serverSettings(
  flags: Flags,
  options: {
    readonly change?: (config: Config) => Config;
    readonly forced?: Parameters<typeof readConfig>[2];
  } = {},
): ServerSettings {
  const { change = (config) => config, forced = {} } = options;
  return {
    file: settingsFileOf(flags),
    readAtStart: (secrets) => change(readConfig({ secrets }, flags, forced)),
    read: (secrets) => {
      const yamlText = readSettingsFile(flags);
      return change(configOf(secrets, { flags, forced, yamlText }));
    },
  };
}
