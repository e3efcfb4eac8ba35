export type { ConsoleConfig } from "./console-settings.ts";
export { readPairList } from "./key-value-list.ts";
export { LiveConfig, pathsOf, type PreparedSettings, SettingsFault } from "./live-config.ts";
export { loadConfig } from "./load-config.ts";
export {
  type Environment,
  isOwnVariable,
  isSecretSetting,
  secretsIn,
  secretsOf,
} from "./own-variables.ts";
export { type Config, environmentName, type SettingName, SETTINGS } from "./settings.ts";
export { namesOf } from "./setting.ts";
export { addressesOf } from "./operator-settings.ts";
export { LIMIT_SETTINGS, type LimitConfig } from "./limit-settings.ts";
export { TIMEOUT_SETTINGS, type TimeoutConfig } from "./timeout-settings.ts";
export { readByProvider } from "./upstream-settings.ts";
export { UNUSUAL_USE_SETTINGS, type UnusualUseConfig } from "./unusual-use-settings.ts";
export type { IssuerConfig } from "./issuer-settings.ts";
