import { type Config, SettingsFault } from "../config/index.ts";
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
  const file = settingsFileOf(flags);
  let hadText = false;
  return {
    file,
    readAtStart: (secrets) => {
      const config = change(readConfig({ secrets }, flags, forced));
      hadText = hasText(readSettingsFile(flags));
      return config;
    },
    read: (secrets) => {
      const yamlText = readSettingsFile(flags);
      // Who writes a file may empty it first, and who moves one may be late.
      if (hadText && !hasText(yamlText)) throw new SettingsFault([missing(file, yamlText)]);
      const config = change(configOf(secrets, { flags, forced, yamlText }));
      hadText ||= hasText(yamlText);
      return config;
    },
  };
}

function hasText(yamlText: string | undefined): boolean {
  return yamlText !== undefined && yamlText.trim() !== "";
}

function missing(file: string, yamlText: string | undefined): string {
  const what = yamlText === undefined ? "is gone" : "is empty";
  return `${file} ${what}; write \`{}\` into it for the defaults, or restart without it`;
}
