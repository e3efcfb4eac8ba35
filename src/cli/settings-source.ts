import type { SettingsSource } from "../app/index.ts";
import type { Config } from "../config/index.ts";
import { type Flags, readConfig, settingsFileOf } from "./command-context.ts";

/**
 * How a server reads its settings, at the start and again while it runs. `change`: what this process
 * makes of what it read, each time.
 */
export function serverSettings(
  flags: Flags,
  options: {
    readonly change?: (config: Config) => Config;
    readonly forced?: Parameters<typeof readConfig>[2];
  } = {},
): SettingsSource {
  const { change = (config) => config, forced } = options;
  return {
    file: settingsFileOf(flags),
    read: (secrets) => change(readConfig({ secrets }, flags, forced)),
  };
}
