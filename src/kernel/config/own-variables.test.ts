import { expect, test } from "vitest";

import { isOwnVariable } from "./own-variables.ts";
import { environmentName, SETTINGS, type Setting } from "./settings.ts";

test("every variable of a setting, and the one that names its file, is this program's own", () => {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  for (const { path, alsoEnv = [] } of settings) {
    for (const name of [environmentName(path), ...alsoEnv]) {
      expect(isOwnVariable(name), name).toBe(true);
      expect(isOwnVariable(`${name}_FILE`), name).toBe(true);
    }
  }
});

test("variables of the database driver, the telemetry and the runtime are this program's own", () => {
  for (const name of ["PGPASSWORD", "OTEL_EXPORTER_OTLP_HEADERS", "NODE_OPTIONS"]) {
    expect(isOwnVariable(name), name).toBe(true);
  }
});

test("a variable for a provider's key is not this program's own", () => {
  for (const name of ["OPENAI_API_KEY", "PGX_KEY", "TMX_KEY", "CLOUDFLARE_API_TOKEN"]) {
    expect(isOwnVariable(name), name).toBe(false);
  }
});
