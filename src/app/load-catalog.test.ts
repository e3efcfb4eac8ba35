import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { edited, textManifest } from "../../test/fixtures/manifest/samples.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import { systemClock } from "../kernel/core/time.ts";
import { loadCatalog, type LoadedCatalog } from "./load-catalog.ts";

const folder = newFolder("manifests");

function loadWithKey(variable: string, providerKeyOrigins = ""): LoadedCatalog {
  const edits = { "/endpoint/api_key_env": variable };
  writeFileSync(join(folder, "one.json"), JSON.stringify(edited(textManifest(), edits)));
  const env = { [variable]: "a key" };
  const sources = { manifestsDir: folder, env, clock: systemClock, providerKeyOrigins };
  return loadCatalog({ ...sources, allowPrivateUpstreams: true });
}

test.each(["STRIPE_SECRET_KEY", "TM_ENCRYPTION_KEY", "OIDC_CLIENT_SECRET_FILE"])(
  "a manifest that names %s as its key variable is refused",
  (variable) => {
    expect(loadWithKey(variable)).toMatchObject({
      ok: false,
      issues: [{ file: "one.json", pointer: "/endpoint/api_key_env" }],
    });
  },
);

test("key origins that cannot be read stop the catalog and name the setting", () => {
  expect(loadWithKey("ACME_API_KEY", "ACME_API_KEY")).toMatchObject({
    ok: false,
    issues: [{ file: "provider_key_origins" }],
  });
  expect(loadWithKey("ACME_API_KEY")).toMatchObject({ ok: true });
});

test.each([
  ["missing.yaml", "there is no such file; create it, or name another with pools_file"],
  ["", "it cannot be read (EISDIR)"],
])("an unreadable pool file '%s' refuses the catalog with the reason", (name, reason) => {
  const poolsFile = join(folder, name);
  const sources = { manifestsDir: folder, env: {}, clock: systemClock, poolsFile };
  const loaded = loadCatalog({ ...sources, allowPrivateUpstreams: true });
  expect(loaded).toMatchObject({ ok: false, issues: [{ file: poolsFile, pointer: "" }] });
  expect(JSON.stringify(loaded)).toContain(reason);
});
