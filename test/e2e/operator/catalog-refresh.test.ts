import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { Manifest } from "../../../src/catalog/index.ts";
import { until } from "../../support/books.ts";
import { withServer } from "../../support/local-server.ts";
import { openAccountByCommands, serve, withOperatorFolder } from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { selfSigned } from "../../support/self-signed.ts";

/** The same price in the two lists, in dollars per million prompt tokens. */
function listsAt(usd: number): Readonly<Record<string, string>> {
  const facts = `"litellm_provider":"groq","mode":"chat","max_input_tokens":1000`;
  const prices = `"input_cost_per_token":${usd}e-06,"output_cost_per_token":${usd}e-06`;
  const sheet = `{"input_mtok":${usd},"output_mtok":${usd}}`;
  return {
    "/litellm.json": `{"groq/acme-1":{${facts},${prices}}}`,
    "/genai.json": `[{"id":"groq","models":[{"id":"acme-1","prices":${sheet}}]}]`,
  };
}

const certificate = selfSigned({ host: "localhost" });
const host = withServer(() =>
  createServer(certificate, (request, response) => {
    response.end(listsAt(1)[request.url ?? ""] ?? "");
  }),
);
const backend = withBackend();
const folder = withOperatorFolder({ url: "http://127.0.0.1:9" });

test("serve reads price lists over TLS, and customers pay a new price without a restart", async () => {
  const manifest = join(folder.manifestsDir, "groq.json");
  const [litellm = "", genai = ""] = Object.entries(listsAt(2)).map(([name, text]) => {
    const file = join(folder.root, name.replace(".json", "-2026-10-01.json"));
    writeFileSync(file, text);
    return file;
  });
  const how = ["--from", "litellm", "--provider", "groq", "--against", `genai-prices=${genai}`];
  const made = await runCommand(["manifest", "import", ...how, "--out", manifest, litellm]);
  expect([made.code, made.stderr]).toEqual([0, ""]);

  const authority = join(folder.root, "ca.pem");
  writeFileSync(authority, certificate.cert);
  const at = `https://localhost:${host.port}`;
  const env = { DATABASE_URL: backend.connectionString };
  const program = await serve(folder, {
    ...env,
    GROQ_API_KEY: "a-key",
    NODE_EXTRA_CA_CERTS: authority,
    TM_CATALOG_REFRESH_EVERY: "1d",
    TM_CATALOG_REFRESH_SOURCES: `litellm=${at}/litellm.json,genai-prices=${at}/genai.json`,
  });
  try {
    const { key } = await openAccountByCommands(["--data", folder.dataDir], "1.00", env);
    await until("customers see the new price", async () => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`${String(program.ready["gateway_url"])}/v1/models`, { headers });
      const { data } = (await answer.json()) as { data: { id: string; pricing: object }[] };
      const found = data.find(({ id }) => id === "groq/acme-1");
      return JSON.stringify(found?.pricing ?? "").includes('"prompt":"0.000001"');
    });
    const { listing_terms: terms } = JSON.parse(readFileSync(manifest, "utf8")) as Manifest;
    const today = new Date().toISOString().slice(0, 10);
    expect(terms?.["groq/acme-1"]?.checked).toEqual({ on: today, by: "two-sources" });
    expect(program.stderr()).toContain('"action":"manifest.refresh"');
  } finally {
    await program.end("SIGTERM");
  }
});
