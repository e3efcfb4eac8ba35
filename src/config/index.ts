export type { ConsoleConfig } from "./console-settings.ts";
export { readPairList } from "./key-value-list.ts";
export { isLiveKey, type ReadSettings, SettingsInForce } from "./settings-in-force.ts";
export { loadConfig } from "./load-config.ts";
export {
  type Environment,
  isOwnVariable,
  isSecretSetting,
  secretsIn,
  secretsOf,
} from "./own-variables.ts";
export { type Config, environmentName, type SettingName, SETTINGS } from "./settings.ts";
export { refreshHours } from "./listing-settings.ts";
export { addressesOf } from "./operator-settings.ts";
export type { LimitConfig } from "./limit-settings.ts";
export type { TimeoutConfig } from "./timeout-settings.ts";
export { readByProvider } from "./upstream-settings.ts";
export type { UnusualUseConfig } from "./unusual-use-settings.ts";
export type { IssuerConfig } from "./issuer-settings.ts";
