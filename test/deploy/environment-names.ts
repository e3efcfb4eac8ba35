import { environmentName, type Setting, SETTINGS } from "../../src/kernel/config/settings.ts";

/** Read by the Node.js runtime or by other images, not by this program. */
const OF_OTHERS = new Set(["NODE_ENV", "NODE_EXTRA_CA_CERTS"]);

export const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);

/** True if the name is in `OF_OTHERS`, or belongs to a setting or to a secret setting's file. */
export function isEnvironmentName(name: string): boolean {
  if (OF_OTHERS.has(name)) return true;
  return settings.some((setting) =>
    namesOf(setting).some(
      (own) => own === name || (setting.secret === true && `${own}_FILE` === name),
    ),
  );
}

export function namesOf(setting: Setting<unknown>): readonly string[] {
  return [environmentName(setting.path), ...(setting.alsoEnv ?? [])];
}
