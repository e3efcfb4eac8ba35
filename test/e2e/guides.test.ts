import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { DEV_MANIFESTS } from "../support/dev-models.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { codeFor, firstScreen, guideSnippets, ROOT, type GuideSnippet } from "../support/guides.ts";
import { newFolder } from "../support/run-folder.ts";

const run = promisify(execFile);
const gateway = withGateway({
  manifests: DEV_MANIFESTS,
  settings: { orgRequestsPerMinute: 10_000, concurrentRequests: 100 },
});
const account = withAccount(gateway, "25.00");
const all = guideSnippets();

describe("the code of the guides and of the README's first screen", () => {
  test("is there in curl, Python and TypeScript, and in no language that is not tried", () => {
    expect(new Set(all.map(({ language }) => language))).toEqual(new Set(["sh", "python", "ts"]));
    expect(all.length).toBeGreaterThan(40);
    expect(firstScreen().map(({ language }) => language)).toEqual(["sh", "python", "ts"]);
  });

  test("runs in a shell as it is copied, with a key in the environment", async () => {
    const shells = all.filter(({ language }) => language === "sh");
    // The snippets run one after another, because all at once can exceed a pool's limit.
    for (const snippet of shells) {
      const output = await inShell(snippet);
      const isError = /"error":\s*\{/.test(output);
      const isAnswer = /^(\{|data: |HTTP)/.test(output);
      expect({ name: snippet.name, isError, isAnswer, output }).toMatchObject({
        isError: snippet.code.includes("no/such-model"),
        isAnswer: snippet.code.includes("curl"),
      });
    }
  });

  test("runs in Node as it is copied, with the official libraries", async () => {
    const folder = newFolder("guides");
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const scripts = all.filter(({ language }) => language === "ts");
    for (const [index, snippet] of scripts.entries()) {
      writeFileSync(join(folder, `${index}.ts`), codeFor(snippet, gateway.url));
    }
    writeFileSync(join(folder, "all.ts"), ALL);
    const count = String(scripts.length);
    const { stdout } = await run(process.execPath, ["--import", "tsx", "all.ts", count], {
      cwd: folder,
      env: { ...process.env, TOKEN_MARKET_KEY: account.key },
    });
    const failed = (JSON.parse(stdout.split("\n").at(-2) ?? "[]") as [number, string][]).map(
      ([index, reason]) => `${scripts[index]?.name}: ${reason}`,
    );
    expect(failed).toEqual([]);
    expect(stdout.split("\n").length).toBeGreaterThan(scripts.length);
  });
});

/** Runs every script of its folder in one process, because each process takes a second. */
const ALL = `
const failed: [number, string][] = [];
await Promise.all(
  Array.from({ length: Number(process.argv[2]) }, async (_, index) => {
    try {
      await import(\`./\${index}.ts\`);
    } catch (error) {
      failed.push([index, String(error)]);
    }
  }),
);
console.log(JSON.stringify(failed));
`;

async function inShell(snippet: GuideSnippet): Promise<string> {
  const { stdout } = await run("bash", ["-euc", codeFor(snippet, gateway.url)], {
    env: { ...process.env, TOKEN_MARKET_KEY: account.key },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}
