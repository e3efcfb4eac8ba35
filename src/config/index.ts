export type { ConsoleConfig } from "./console-settings.ts";
export { readPairList } from "./key-value-list.ts";
export { loadConfig } from "./load-config.ts";
export { type Environment, isOwnVariable, isSecretSetting, secretsIn } from "./own-variables.ts";
export { type Config, environmentName, type SettingName, SETTINGS } from "./settings.ts";
