import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { Manifest } from "../../../src/catalog/index.ts";
import { withOperatorFolder } from "../../support/operator.ts";
import { runCommand } from "../../support/program.ts";

const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });

interface SourceModel {
  readonly input?: string;
  readonly output?: string;
}

/** Writes a price list in LiteLLM's format, with prices as texts in dollars per token. */
function sourceFile(name: string, models: Readonly<Record<string, SourceModel>>): string {
  const entries = Object.entries(models).map(
    ([id, { input = "1e-06", output = "2e-06" }]) =>
      `"mistral/${id}": {"litellm_provider": "mistral", "mode": "chat",
      "input_cost_per_token": ${input}, "output_cost_per_token": ${output},
      "max_input_tokens": 128000, "max_output_tokens": 8192}`,
  );
  const path = join(folder.root, name);
  writeFileSync(path, `{${entries.join(",")}}`);
  return path;
}

const MODELS = { "small-1": {}, "small-2": {}, "small-3": {} };

/** Imports a manifest from a price list of `MODELS`; returns its file. */
async function imported(name: string): Promise<string> {
  const file = join(folder.manifestsDir, `${name}.json`);
  const source = sourceFile("list-2026-08-01.json", MODELS);
  const args = ["--from", "litellm", "--provider", "mistral", "--out", file, "--overwrite"];
  const { code, stderr } = await runCommand(["manifest", "import", ...args, source]);
  expect([code, stderr]).toEqual([0, ""]);
  return file;
}

function read(file: string): Manifest {
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}

async function refresh(file: string, source: string, ...more: readonly string[]) {
  const args = ["manifest", "refresh", file, "--source", `litellm=${source}`, "--json", ...more];
  const { code, stdout, stderr } = await runCommand(args);
  expect(stderr).toBe("");
  return { code, json: JSON.parse(stdout) as { readonly manifests: readonly object[] } };
}

test("manifest refresh changes a file only with --write: rises are announced, cuts apply at once", async () => {
  const file = await imported("written");
  chmodSync(file, 0o640);
  const before = readFileSync(file, "utf8");
  const source = sourceFile("list-2026-09-01.json", {
    ...MODELS,
    "small-1": { input: "1.1e-06" },
    "small-2": { input: "5e-07" },
  });
  const dry = await refresh(file, source);
  expect(dry).toMatchObject({ code: 0, json: { written: false } });
  expect(readFileSync(file, "utf8")).toBe(before);

  const done = await refresh(file, source, "--write");
  expect(done.json).toMatchObject({ ok: true, written: true, manifests: [{ state: "changed" }] });
  const text = readFileSync(file, "utf8");
  const { models, listing_terms: terms, catalog_source: from } = read(file);
  expect(from?.dated).toBe("2026-09-01");
  const prompts = models.map(({ pricing: [prompt] }) => prompt?.cost_usd_per_million);
  expect(prompts).toEqual(["1", "0.5", "1"]);
  expect(terms?.["mistralai/small-1"]?.price_changes).toMatchObject([
    { from: expect.stringMatching(/T00:00:00Z$/), pricing: [{ cost_usd_per_million: "1.1" }, {}] },
  ]);
  // The file's permissions are kept, and no temporary file is left in the folder.
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(folder.manifestsDir).filter((name) => name.startsWith("."))).toEqual([]);

  const second = await refresh(file, source, "--write");
  expect(second.json).toMatchObject({ ok: true, manifests: [{ state: "unchanged" }] });
  expect(readFileSync(file, "utf8")).toBe(text);
  // A copy of the list with the name of a later day counts as the same list.
  const copy = join(folder.root, "list-2026-10-01.json");
  copyFileSync(source, copy);
  const third = await refresh(file, copy, "--write");
  expect(third.json).toMatchObject({ manifests: [{ state: "unchanged" }] });
  expect(await runCommand(["manifest", "check", file])).toMatchObject({ code: 0 });
});

test("manifest refresh --config refreshes the manifests folder that the file names", async () => {
  const file = await imported("mistral");
  const config = join(folder.root, "prod.yaml");
  writeFileSync(config, `manifests: ${folder.manifestsDir}\n`);
  const source = `litellm=${sourceFile("list-2026-09-01.json", { "small-1": { input: "0.5e-06" } })}`;
  const args = ["--config", config, "--source", source, "--json"];
  const { code, stdout, stderr } = await runCommand(["manifest", "refresh", ...args]);
  expect([code, stderr]).toEqual([1, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    manifests: expect.arrayContaining([expect.objectContaining({ file, state: "changed" })]),
  });
});

test("manifest refresh exits with 1 for a rise above the bound, and changes no price until it is accepted", async () => {
  const file = await imported("rise");
  const source = sourceFile("list-2026-09-02.json", { ...MODELS, "small-1": { input: "2e-06" } });
  const waiting = await refresh(file, source, "--write");
  const findings = [{ model: "mistralai/small-1", kind: "rise_waits" }];
  expect(waiting).toMatchObject({ code: 1, json: { manifests: [{ findings }] } });
  expect(read(file).listing_terms?.["mistralai/small-1"]?.price_changes).toBeUndefined();
  const wide = await refresh(file, source, "--max-rise", "100");
  expect(wide.code).toBe(0);
  const args = ["--write", "--accept", "mistralai/small-1", "--effective", "now"];
  const taken = await refresh(file, source, ...args);
  expect(taken.code).toBe(0);
  expect(read(file).models[0]?.pricing[0]?.cost_usd_per_million).toBe("2");
});

test("manifest refresh says why it cannot refresh a manifest, and refuses invalid options", async () => {
  const file = await imported("asked");
  const before = readFileSync(file, "utf8");
  const older = sourceFile("list-2026-07-01.json", { ...MODELS, "small-1": { input: "9e-07" } });
  const old = await refresh(file, older, "--write");
  expect(old).toMatchObject({ code: 1, json: { manifests: [{ state: "older_source" }] } });
  const empty = sourceFile("list-2026-09-05.json", {});
  const none = await refresh(file, empty, "--write");
  expect(none).toMatchObject({ code: 1, json: { manifests: [{ state: "lists_nothing" }] } });
  expect(readFileSync(file, "utf8")).toBe(before);
  const own = await runCommand(["manifest", "refresh", join(folder.manifestsDir, "first.json")]);
  expect(own.code).toBe(0);
  expect(own.stdout).toContain("has no catalog_source");

  const source = `litellm=${older}`;
  for (const [args, message] of [
    [[file], "--source litellm=FILE"],
    [[file, "--source", older], "--source must be SOURCE=FILE"],
    [[file, "--source", source, "--accept", "mistralai/none"], "mistralai/none"],
    [[file, "--source", source, "--effective", "2026-02-30"], "--effective must be a UTC day"],
    [[file, "--source", source, "--effective", "2026-01-01"], "is past"],
    [[file, "--source", source, "--effective", "2999-01-01"], "days away"],
    [[file, "--source", source, "--max-rise", "1e3"], "--max-rise must be a percentage"],
    [[file, "--source", "litellm=http://example.com/list.json"], "only https"],
  ] as const) {
    const { code, stdout, stderr } = await runCommand(["manifest", "refresh", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  }
});
