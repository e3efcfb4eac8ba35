import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { runCommand } from "../../test/support/program.ts";
import { newFolder } from "../../test/support/run-folder.ts";

const folder = newFolder("import");

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const SMALL =
  "model_list:\n  - model_name: mine\n    litellm_params: {model: openai/gpt-4.1, rpm: 5}\n";

describe("import litellm", () => {
  test("prints one JSON document, or a summary that names what is not carried", async () => {
    const config = file("a.yaml", `${SMALL}unheard_of: 1\n`);
    const asJson = await runCommand(["import", "litellm", config, "--json"]);
    expect(asJson.code).toBe(0);
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      ok: true,
      listings: [{ id: "mine", providerId: "openai", isReady: true }],
      written: [],
    });
    const asText = await runCommand(["import", "litellm", config]);
    expect(asText.stdout).toContain("1 listing in 1 manifest");
    expect(asText.stdout).toMatch(/not carried:\n {2}unheard_of: a setting/);
    expect(asText.stdout).toContain("set in the environment: OPENAI_API_KEY");
  });

  test("exits with 1 when no model could be listed", async () => {
    const args = ["import", "litellm", file("b.yaml", "a: 1"), "--json"];
    const { code, stdout } = await runCommand(args);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false });
  });

  test.each([
    ["a file that is not there", join(folder, "gone.yaml"), /there is no such file/],
    ["a key written twice", file("c.yaml", "a: 1\na: sk-secret-1"), /the key a more than once/],
  ])("exits with 2 for %s, and shows nothing of it", async (_what, path, message) => {
    const { code, stderr, stdout } = await runCommand(["import", "litellm", path]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("sk-secret");
  });

  test("writes the same valid files each time, and never over a file that was changed", async () => {
    const config = file("e.yaml", SMALL);
    const target = join(folder, "written");
    const args = ["import", "litellm", config, "--write", target];
    expect((await runCommand(args)).code).toBe(0);
    const names = (readdirSync(target, { recursive: true }) as string[]).toSorted();
    const texts = ["moving-in.json", "pools.yaml", "tokenmarket.yaml"];
    expect(names).toEqual(["manifests", "manifests/openai.json", ...texts]);
    const before = statSync(join(target, "moving-in.json")).mtimeMs;
    const keys = file("keys.json", '{"keys": [{"key_alias": "web", "user_id": "u"}]}');
    expect((await runCommand(args)).code).toBe(0);
    expect(statSync(join(target, "moving-in.json")).mtimeMs).toBe(before);
    const checked = await runCommand(["manifest", "check", join(target, "manifests")]);
    expect(checked).toMatchObject({ code: 0, stderr: "" });
    const accounts = join(folder, "with-accounts");
    await runCommand(["import", "litellm", config, "--keys", keys, "--write", accounts]);
    // The script contains keys, so only its owner may read it.
    expect(statSync(join(accounts, "accounts.sh")).mode & 0o777).toBe(0o700);
    writeFileSync(join(target, "pools.yaml"), "mine");
    const again = await runCommand(args);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("pools.yaml is there")]);
    expect(readFileSync(join(target, "pools.yaml"), "utf8")).toBe("mine");
  });
});

describe("import openrouter", () => {
  test("matches ids, or a saved list, with the listings of a folder", async () => {
    const manifests = join(folder, "written", "manifests");
    const one = ["import", "openrouter", "mine", "mine:free", "--manifests", manifests, "--json"];
    const asked = await runCommand(one);
    expect(asked.code).toBe(0);
    expect(JSON.parse(asked.stdout)).toMatchObject({
      models: [{ kind: "exact" }, { kind: "nearest", listing: "mine" }],
    });
    const list = file("models.json", '{"data": [{"id": "mine"}, {"id": "x/y"}]}');
    const listed = await runCommand(["import", "openrouter", list, "--manifests", manifests]);
    expect(listed.code).toBe(1);
    expect(listed.stdout).toMatch(/^exact {4}mine {2}mine \(openai\)/);
    expect(listed.stdout).toMatch(/none {5}x\/y {2}no listing/);
  });

  test("exits with 2 for a folder that a flag or a setting names and that does not exist", async () => {
    const nowhere = join(folder, "nowhere");
    const args = ["import", "openrouter", "mine"];
    const said = [2, expect.stringContaining(`there is no folder ${nowhere}`)];
    for (const run of [
      runCommand([...args, "--manifests", nowhere]),
      runCommand(args, { TM_MANIFESTS: nowhere }),
    ]) {
      const { code, stderr } = await run;
      expect([code, stderr]).toEqual(said);
    }
  });

  test("exits with 2 for a file without models", async () => {
    const { code, stderr } = await runCommand(["import", "openrouter", file("empty.json", "{}")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("has no list of models")]);
  });
});
