import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { pricing } from "../../test/fixtures/manifest/samples.ts";
import { runCommand, type CommandResult } from "../../test/support/program.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import type { Manifest } from "../catalog/index.ts";

const snapshots = join(import.meta.dirname, "../../test/listing-sources/snapshots");
const litellm = join(snapshots, "litellm-2026-08-01.json");
const modelsDev = `models.dev=${join(snapshots, "models.dev-api-2026-07-02.json")}`;
const forGroq = ["manifest", "import", "--from", "litellm", "--provider", "groq"];

const folder = newFolder("manifest-import");

interface Answer {
  readonly ok: boolean;
  readonly file: string | null;
  readonly source: { readonly from: string; readonly dated: string; readonly sha256: string };
  readonly listed: readonly string[];
  readonly staged: readonly string[];
  readonly skipped: readonly string[];
  readonly notes: readonly { readonly model: string; readonly code: string }[];
}

function run(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(args);
}

describe("manifest import", () => {
  test("the same input gives the same bytes, and a manifest that is valid", async () => {
    const [first, second] = [join(folder, "one.json"), join(folder, "two.json")];
    const args = [...forGroq, "--against", modelsDev, "--json"];
    const answer = await run(...args, "--out", first, litellm);
    expect(answer).toMatchObject({ code: 0, stderr: "" });
    await run(...args, "--out", second, litellm);
    expect(readFileSync(second, "utf8")).toBe(readFileSync(first, "utf8"));
    const told = JSON.parse(answer.stdout) as Answer;
    expect(told).toMatchObject({ ok: true, file: first, source: { dated: "2026-08-01" } });
    expect(told.source.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect([...told.listed, ...told.staged]).toContain("openai/gpt-oss-120b");
    expect(told.notes.length).toBeGreaterThan(0);
    const checked = await run("manifest", "check", first);
    expect(checked).toMatchObject({ code: 0 });
  });

  test("--margin raises the sale prices, and the provider is owed the source's prices", async () => {
    const out = join(folder, "margin.json");
    await run(...forGroq, "--margin", "10", "--models", "openai/*-120b", "--out", out, litellm);
    const manifest = JSON.parse(readFileSync(out, "utf8")) as Manifest;
    expect(manifest.models.map(({ id }) => id)).toEqual(["openai/gpt-oss-120b"]);
    const raised = { prompt: "0.165", cached_prompt: "0.0825", completion: "0.66" };
    expect(manifest.models[0]?.pricing).toEqual(pricing(raised));
    const terms = manifest.listing_terms?.["openai/gpt-oss-120b"];
    const owed = { prompt: "0.15", cached_prompt: "0.075", completion: "0.6" };
    expect(terms?.purchase_pricing).toEqual(pricing(owed));
    const models = ["openai/*-120b"];
    expect(manifest.catalog_source).toMatchObject({ margin_percent: "10", models });
  });

  test("a source's rate limits are written with --capacity only", async () => {
    const capacityOf = async (...flags: readonly string[]): Promise<unknown> => {
      const forGoogle = ["--from", "litellm", "--provider", "google", "--models", "*2.5-flash"];
      const { stdout } = await run("manifest", "import", ...forGoogle, ...flags, litellm);
      const { models } = JSON.parse(stdout) as Manifest;
      expect(models.map(({ id }) => id)).toEqual(["google/gemini-2.5-flash"]);
      return models[0]?.capacity;
    };
    expect(await capacityOf()).toBeUndefined();
    expect(await capacityOf("--capacity")).toEqual([
      { type: "request", per: "minute", value: 100_000 },
      { type: "prompt", unit: "token", per: "minute", value: 8_000_000 },
    ]);
  });

  test("a source file without models ends with exit code 1, and nothing is written", async () => {
    const [empty, out] = [join(folder, "empty.json"), join(folder, "none.json")];
    writeFileSync(empty, "{}");
    const { code, stdout } = await run(...forGroq, "--json", "--out", out, empty);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, file: null, listed: [] });
    expect(existsSync(out)).toBe(false);
  });

  test("an import that lists nothing keeps an existing file, even with --overwrite", async () => {
    const out = join(folder, "kept.json");
    writeFileSync(out, "what is listed now");
    const other = join(folder, "models.dev-2026-08-01.json");
    writeFileSync(other, JSON.stringify({ groq: { id: "groq", models: {} } }));
    const staged = ["--models", "openai/gpt-oss-120b", "--against", `models.dev=${other}`];
    const answer = await run(...forGroq, ...staged, "--overwrite", "--json", "--out", out, litellm);
    expect(answer).toMatchObject({ code: 1 });
    const told = JSON.parse(answer.stdout) as Answer;
    expect(told).toMatchObject({ file: null, listed: [], staged: ["openai/gpt-oss-120b"] });
    expect(readFileSync(out, "utf8")).toBe("what is listed now");
  });

  test("an existing file is replaced only with --overwrite", async () => {
    const out = join(folder, "mine.json");
    writeFileSync(out, "by hand");
    const refused = await run(...forGroq, "--out", out, litellm);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--overwrite");
    expect(readFileSync(out, "utf8")).toBe("by hand");
    expect(await run(...forGroq, "--out", out, "--overwrite", litellm)).toMatchObject({ code: 0 });
  });

  test("a provider that is not built in is imported with a --head file", async () => {
    const file = join(folder, "head.json");
    const head = {
      use: "import",
      provider: {
        id: "acme",
        name: "Acme",
        privacy_policy_url: "https://acme.example/privacy",
        prompt_logging: "none",
      },
      endpoint: { base_url: "https://api.acme.example/v1", dialect: "wire_a" },
      settlement: { mode: "arrears", interval: "monthly" },
      output_bound: { usual: "max_tokens", reasoning: "max_tokens" },
      parameters: {},
      sources: { litellm: "groq" },
      facts: [],
    };
    writeFileSync(file, JSON.stringify(head));
    const args = ["manifest", "import", "--from", "litellm", "--provider", "acme", "--head", file];
    const { code, stdout } = await run(...args, litellm);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ provider: { id: "acme" } });
  });

  const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
    ["no source", ["--provider", "groq", litellm], /missing --from$/m],
    ["no provider", ["--from", "litellm", litellm], /missing --provider/],
    ["an unknown source", ["--from", "mine", "--provider", "groq", litellm], /models\.dev/],
    ["an unknown provider", ["--from", "litellm", "--provider", "acme", litellm], /--head/],
    ["a margin in words", [...forGroq.slice(2), "--margin", "ten", litellm], /--margin/],
    ["a negative margin", [...forGroq.slice(2), "--margin=-5", litellm], /--margin/],
    ["an invalid day", [...forGroq.slice(2), "--dated", "2026-02-30", litellm], /--dated/],
    ["a missing file", [...forGroq.slice(2), "nowhere.json"], /nowhere\.json/],
    ["a source without a name", [...forGroq.slice(2), "--against", "x.json", litellm], /--against/],
    ["plain http", [...forGroq.slice(2), "http://127.0.0.1:1/x.json"], /only https/],
    ["another scheme", [...forGroq.slice(2), "file:///etc/passwd"], /only https/],
    ["invalid JSON", [...forGroq.slice(2), import.meta.filename], /not JSON at line 1, column 1/],
    [
      "a source that does not list the provider",
      ["--from", "openrouter", "--provider", "groq", litellm],
      /these do/,
    ],
  ];

  test.each(wrong)(
    "with %s ends with exit code 2 and says what is wrong",
    async (_what, args, message) => {
      const { code, stdout, stderr } = await run("manifest", "import", ...args);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(message);
    },
  );

  test("no message quotes more than 200 characters of a file", async () => {
    const long = "x".repeat(1_000_000);
    const file = join(folder, "long.json");
    writeFileSync(file, JSON.stringify({ [`groq/${long}`]: { litellm_provider: "groq" } }));
    const named = await run(...forGroq, "--json", file);
    expect(named.code).toBe(1);
    expect((JSON.parse(named.stdout) as Answer).skipped).toHaveLength(1);
    writeFileSync(file, `{"${long}": 1, "${long}": 2}`);
    const twice = await run(...forGroq, file);
    expect(twice.stderr).toMatch(/has the key \/x{199}… twice/);
    writeFileSync(file, JSON.stringify({ manifest_version: "1", listing_terms: { [long]: 1 } }));
    const checked = await run("manifest", "check", file);
    expect(checked.stdout).toContain(`/listing_terms/${"x".repeat(200)}…`);
    for (const { stdout, stderr } of [named, twice, checked]) {
      expect(stdout.length + stderr.length).toBeLessThan(10_000);
    }
  });

  test("a source file with a duplicate key, over 16 MiB or not in UTF-8 is refused", async () => {
    const file = join(folder, "bad.json");
    writeFileSync(file, '{"a": 1, "a": 2}');
    expect((await run(...forGroq, file)).stderr).toContain("/a twice");
    writeFileSync(file, " ".repeat(16 * 1_048_576 + 1));
    expect((await run(...forGroq, file)).stderr).toContain("over 16 MiB");
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
    expect((await run(...forGroq, file)).stderr).toContain("not UTF-8");
  });
});
