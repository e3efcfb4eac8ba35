import { environmentName, SETTINGS, type Setting } from "../../src/kernel/config/settings.ts";
import { code, page, table } from "./markdown.ts";

/** docs/reference/config.md, from the one table of settings. */
export function configPage(): string {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  const rows = settings.map((setting) => [
    code(setting.path),
    namesOf(setting).map(code).join(" or "),
    setting.fallback === "" ? "none" : code(String(setting.fallback)),
    setting.doc,
  ]);
  return page(
    "Configuration",
    "Source: `src/kernel/config/settings.ts`. The command line wins over the environment, the environment over " +
      "`tokenmarket.yaml`, and the file over the defaults. A dot in a setting's name is a level of the file. " +
      "A secret `X` is read from a file where `X_FILE` names one ([secrets](../operating/running.md#secrets-in-files)). " +
      "A running server follows a few of them ([what follows without a restart](../operating/running.md#what-follows-without-a-restart)); " +
      "every other change waits for its restart.",
    table(["Setting", "Environment", "Default", "Meaning"], rows),
  );
}

/** The variables that set it. The variable of a secret may name a file instead. */
function namesOf({ path, alsoEnv = [], secret }: Setting<unknown>): readonly string[] {
  const names = [environmentName(path), ...alsoEnv];
  return secret === true ? [...names, ...names.map((name) => `${name}_FILE`)] : names;
}
