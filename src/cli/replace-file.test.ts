import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { beforeEach, expect, test } from "vitest";

import { newFolder } from "../../test/support/run-folder.ts";
import { writeOut, writeWhole } from "./replace-file.ts";

const root = join(import.meta.dirname, "../..");
const prices = join(root, "test/listing-sources/snapshots/litellm-2026-08-01.json");

let folder: string;
let file: string;
beforeEach(() => {
  folder = newFolder("replace");
  file = join(folder, "groq.json");
});

/** Runs a process whose files can have a kilobyte at most, as if the disk were nearly full. */
function runOnFullDisk(args: readonly string[]): void {
  const limited = 'trap "" XFSZ; ulimit -f 1; exec "$0" --import tsx "$@"';
  const env = { ...process.env, TSX_DISABLE_CACHE: "1" };
  const asked = { cwd: root, encoding: "utf8", timeout: 45_000, env } as const;
  const ran = spawnSync("sh", ["-c", limited, process.execPath, ...args], asked);
  expect(`${ran.status} ${ran.stderr}`).toMatch(/^[1-9].*EFBIG/s);
}

const main = "src/cli/main.ts";
const fromList = ["manifest", "import", "--from", "litellm", "--provider", "groq"];

test.each([
  ["manifest import", (out: string) => [...fromList, "--out", out, "--overwrite", prices]],
  [
    "catalog build",
    (out: string) => ["catalog", "build", "--manifests", "manifests", "--out", out],
  ],
])("a full disk leaves the file that %s was to replace as it was", (_command, argsFor) => {
  writeFileSync(file, "{}");
  runOnFullDisk([main, ...argsFor(file)]);
  expect(readFileSync(file, "utf8")).toBe("{}");
  expect(readdirSync(folder)).toEqual(["groq.json"]);
});

test("a full disk leaves the manifest that a refresh was to replace as it was", () => {
  writeFileSync(file, "{}");
  const module = JSON.stringify(join(import.meta.dirname, "replace-file.ts"));
  const all = `[{ read: { file: ${JSON.stringify(file)}, text: "{}" }, text: "x".repeat(9_999) }]`;
  const code = `import { replaceFiles } from ${module}; replaceFiles(${all});`;
  runOnFullDisk(["--input-type=module", "-e", code]);
  expect(readFileSync(file, "utf8")).toBe("{}");
  expect(readdirSync(folder)).toEqual(["groq.json"]);
});

test("a full disk leaves no part of a file that import litellm was to write", () => {
  const config = join(folder, "config.yaml");
  writeFileSync(
    config,
    "model_list:\n  - model_name: mine\n    litellm_params: {model: openai/gpt-4.1}\n",
  );
  runOnFullDisk([main, "import", "litellm", config, "--write", join(folder, "moved")]);
  const written = readdirSync(join(folder, "moved"), { recursive: true, withFileTypes: true });
  expect(written.filter((each) => each.isFile())).toEqual([]);
});

test("a replaced file keeps its owner and mode, also behind what a killed process left", () => {
  writeFileSync(file, "{}");
  const owner = process.getuid?.() === 0 ? 65_532 : statSync(file).uid;
  chownSync(file, owner, statSync(file).gid);
  chmodSync(file, 0o666);
  writeFileSync(join(folder, `.groq.json.${process.pid}.new`), "{");
  writeWhole(file, "[]");
  expect(readFileSync(file, "utf8")).toBe("[]");
  expect(statSync(file)).toMatchObject({ uid: owner, mode: 0o100_666 });
  expect(readdirSync(folder)).toEqual(["groq.json"]);
});

test("an export has its name only once it is complete, and replaces no file", async () => {
  const seen: boolean[] = [];
  const pieces = async function* (end: () => string): AsyncGenerator<string> {
    yield "a\n";
    seen.push(existsSync(file));
    yield await Promise.resolve(end());
  };
  const write = (end: () => string): Promise<void> => writeOut(process, file, pieces(end));
  const broken = (): never => {
    throw new Error("broken");
  };
  await expect(write(broken)).rejects.toThrow("broken");
  expect(readdirSync(folder)).toEqual([]);
  await write(() => "b\n");
  expect(seen).toEqual([false, false]);
  expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["a\nb\n", 0o600]);
  await expect(write(() => "c\n")).rejects.toThrow("is there already");
  expect(readFileSync(file, "utf8")).toBe("a\nb\n");
});
