import { expect, test } from "vitest";

import { isOwnVariable } from "./own-variables.ts";
import { environmentName, SETTINGS, type Setting } from "./settings.ts";

test("every variable that a setting is read from is this program's, and so is the file of it", () => {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  for (const { path, alsoEnv = [] } of settings) {
    for (const name of [environmentName(path), ...alsoEnv]) {
      expect(isOwnVariable(name), name).toBe(true);
      expect(isOwnVariable(`${name}_FILE`), name).toBe(true);
    }
  }
});

test("what the database driver and the telemetry read is not a provider's key either", () => {
  for (const name of ["PGPASSWORD", "OTEL_EXPORTER_OTLP_HEADERS", "NODE_OPTIONS"]) {
    expect(isOwnVariable(name), name).toBe(true);
  }
});

test("a provider's own variable is not one of ours", () => {
  for (const name of ["OPENAI_API_KEY", "PGX_KEY", "TMX_KEY", "CLOUDFLARE_API_TOKEN"]) {
    expect(isOwnVariable(name), name).toBe(false);
  }
});
