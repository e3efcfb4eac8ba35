import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, normalize, resolve } from "node:path";

import { parseSync } from "oxc-parser";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { at } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { bearer, type HttpAnswer, httpCall } from "../../support/http-call.ts";
import { installPackedProgram, type PackedProgram } from "../../support/packed-program.ts";
import { ANY_PORTS, openAccountByCommands } from "../../support/operator.ts";
import { withDatabase } from "../../support/postgres.ts";
import {
  runProgram,
  startProgram,
  type CommandResult,
  type ProgramPlace,
  type RunningProgram,
} from "../../support/program.ts";
import { withSimulator } from "../../support/gateway.ts";

const database = withDatabase();
let packed: PackedProgram;
beforeAll(async () => {
  packed = await installPackedProgram();
});
afterAll(() => packed.remove());

let running: RunningProgram | undefined;
afterEach(async () => {
  await running?.end("SIGTERM");
  running = undefined;
});

/** Makes an empty working directory in the installation, where `npx tokenmarket` runs. */
function emptyPlace(name: string): ProgramPlace {
  const cwd = join(packed.folder, name);
  mkdirSync(cwd);
  return { command: ["npx", "tokenmarket"], cwd };
}

async function startPacked(
  command: string,
  place: ProgramPlace,
  env: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const log = command === "dev" ? ["--log", "json"] : [];
  running = await startProgram([command, ...ANY_PORTS, ...log], env, place);
  return running;
}

function books(): { readonly DATABASE_URL: string } {
  return { DATABASE_URL: database.connectionString };
}

function gatewayUrl(): string {
  return String(running?.ready["gateway_url"]);
}

function chat(key: string, model: string): Promise<HttpAnswer> {
  const call = { headers: bearer(key), body: chatBody(model) };
  return httpCall(`${gatewayUrl()}/v1/chat/completions`, call);
}

async function modelIds(key: string): Promise<readonly unknown[]> {
  const { json } = await httpCall(`${gatewayUrl()}/v1/models`, { headers: bearer(key) });
  return (at(json, "data") as readonly unknown[]).map((model) => at(model, "id"));
}

describe("the tarball", () => {
  test("has the files that are served and read, and none that only the repository needs", () => {
    for (const needed of [
      "README.md",
      "dist/cli/main.js",
      "dist/catalog/manifest/index.d.ts",
      "dist/listing-tools/conformance/library.d.ts",
      "dist/console/index.html",
      "dist/kernel/storage/migrations/schema.sql",
      "dist/listing-tools/listing-sources/heads.json",
      "manifests/simulator-a.json",
      "schema/provider-manifest.schema.json",
      "schema/openapi-console.json",
      "schema/openapi-v1.json",
      "docs/reference/config.md",
      "docs/simulator.md",
    ]) {
      expect(packed.files).toContain(needed);
    }
    const allowed =
      /^(package\.json|(README|CHANGELOG)\.md|LICENSE|dist\/.+\.js|dist\/(catalog\/manifest|listing-tools\/conformance)\/.+\.d\.ts|dist\/console\/.+|dist\/kernel\/storage\/migrations\/.+\.sql|dist\/listing-tools\/(listing-sources|moving-in)\/[a-z-]+\.json|manifests\/.+\.json|schema\/.+\.json|docs\/.+\.md|examples\/.+|console\/public\/overview-(light|dark)\.webp)$/;
    expect(packed.files.filter((file) => !allowed.test(file))).toEqual([]);
    const unneeded = /\.test\.|fixtures|\.map$|\.built-from|\.chunks\.json|docs\/decisions\//;
    expect(packed.files.filter((file) => unneeded.test(file))).toEqual([]);
    const pointing = programFiles().filter(({ text }) => text.includes("sourceMappingURL"));
    expect(pointing.map(({ file }) => file)).toEqual([]);
  });

  test("imports only its own files and the packages that a customer installs", () => {
    const { dependencies } = packageJson();
    const program = programFiles();
    expect(program.length).toBeGreaterThan(300);
    expect(program.flatMap((source) => missingImports(source, dependencies))).toEqual([]);
    const planted = {
      file: "dist/cli/main.js",
      text: 'import "openai"; await import("vitest/node"); export * from "./away.js";',
    };
    expect(missingImports(planted, dependencies)).toEqual([
      "dist/cli/main.js: openai",
      "dist/cli/main.js: dist/cli/away.js",
      "dist/cli/main.js: vitest",
    ]);
  });
});

describe("a package that is installed in an empty folder", () => {
  test("starts dev with the simulated provider, a key and the console", async () => {
    const place = emptyPlace("dev");
    const program = await startPacked("dev", place, {});
    const key = readFileSync(join(place.cwd, "data/dev-key"), "utf8").trim();
    expect(await modelIds(key)).toContain("sim/both");
    expect((await chat(key, "sim/both")).status).toBe(200);
    const page = await httpCall(`${String(program.ready["console_url"])}/models`);
    expect(page.status).toBe(200);
    expect(page.text).toContain("<script");
    await until("it says what to call", () => program.stdout().includes("sim/both"));
    expect(readdirSync(place.cwd)).toEqual(["data"]);
  });

  test("starts serve without manifests, and the next steps that it prints work", async () => {
    const place = emptyPlace("serve");
    const program = await startPacked("serve", place, { ...books(), OPENAI_API_KEY: "sk-x" });
    expect(program.ready["models"]).toBe(0);
    const lines = program.stderr().split("\n");
    const line = lines.find((each) => each.includes("no provider manifests"));
    const { level, msg, next } = JSON.parse(line ?? "{}") as Record<string, unknown>;
    const shipped = join(packed.packageFolder, "manifests");
    expect(level).toBe(40);
    expect(msg).toContain("there are no provider manifests in ./manifests");
    expect(next).toEqual([
      "mkdir -p ./manifests",
      `cp ${shipped}/openai.json ./manifests/`,
      "export OPENAI_API_KEY=...",
      "npx tokenmarket serve",
    ]);
    const { key } = await openAccountByCommands([], "1.00", books());
    expect(await modelIds(key)).toEqual([]);
    const answer = await chat(key, "openai/gpt-4.1");
    expect(answer.status).toBe(404);
    expect(at(answer.json, "error", "code")).toBe("model_unavailable");
    mkdirSync(join(place.cwd, "manifests"));
    copyFileSync(join(shipped, "openai.json"), join(place.cwd, "manifests/openai.json"));
    const ids = (): Promise<readonly unknown[]> => modelIds(key);
    await until("the model is listed", async () => (await ids()).includes("openai/gpt-4.1"));
  });

  test("runs the commands that need no server", async () => {
    const place = emptyPlace("commands");
    const { version } = packageJson();
    const run = (...args: string[]): Promise<CommandResult> => runProgram(args, {}, { place });
    const [help, shown, check] = await Promise.all([
      run("--help"),
      run("version"),
      run("manifest", "check", join(packed.packageFolder, "manifests")),
    ]);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("serve") });
    expect(shown).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining("openai.json: valid") });
    expect(readdirSync(place.cwd)).toEqual([]);
  });
});

describe("tokenmarket/conformance", () => {
  const simulator = withSimulator();
  const example = "examples/conformance/check.mjs";

  test("runs the shipped example against an endpoint", async () => {
    const { cwd } = emptyPlace("conformance");
    copyFileSync(join(packed.packageFolder, example), join(cwd, "check.mjs"));
    const shipped = readFileSync(join(packed.packageFolder, "manifests/simulator-a.json"), "utf8");
    const manifest = shipped.replaceAll("http://127.0.0.1:9100", simulator.url);
    writeFileSync(join(cwd, "lab.json"), manifest);
    const place: ProgramPlace = { command: [process.execPath, "check.mjs"], cwd };
    const result = await runProgram(["lab.json", "--allow-private"], {}, { place });
    expect(result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("# Conformance of sim-a: pass"),
      stderr: expect.stringContaining("24/24 pass C7"),
    });
    expect(readFileSync(join(cwd, "conformance.xml"), "utf8")).toContain('failures="0"');
    const refused = await runProgram(["lab.json"], {}, { place });
    expect(refused.code).not.toBe(0);
  });

  test("has complete types", async () => {
    const { cwd } = emptyPlace("typed");
    const text = readFileSync(join(packed.packageFolder, example), "utf8");
    writeFileSync(join(cwd, "check.mjs"), text);
    writeFileSync(join(cwd, "option.mjs"), text.replace("budgetUsd", "budget"));
    writeFileSync(join(cwd, "import.mjs"), text.replace("{ report }", "{ repair }"));
    const problems = await typeProblems(cwd, ["check.mjs", "option.mjs", "import.mjs"]);
    const of = (file: string): readonly string[] =>
      problems.filter((line) => line.startsWith(`${file}(`));
    expect(of("option.mjs")).toEqual([expect.stringContaining("'budget' does not exist")]);
    expect(of("import.mjs")).not.toEqual([]);
    // There are no problems in the example itself or in any declaration.
    expect(problems).toHaveLength(of("option.mjs").length + of("import.mjs").length);
  });
});

/** The compiler's problems of these files, and of every declaration that they read. */
async function typeProblems(cwd: string, files: readonly string[]): Promise<readonly string[]> {
  const modules = resolve(import.meta.dirname, "../../../node_modules");
  const place: ProgramPlace = { command: [process.execPath], cwd };
  const options = [
    ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2023"],
    ["--module", "nodenext", "--typeRoots", join(modules, "@types"), "--types", "node"],
  ];
  const args = [join(modules, "typescript/bin/tsc"), ...options.flat(), ...files];
  const { stdout } = await runProgram(args, {}, { place });
  return stdout.split("\n").filter((line) => line.includes("error"));
}

function packageJson() {
  const text = readFileSync(join(packed.packageFolder, "package.json"), "utf8");
  return JSON.parse(text) as { version: string; dependencies: Readonly<Record<string, string>> };
}

interface BuiltFile {
  readonly file: string;
  readonly text: string;
}

/** The built program without the console's pages, which browsers load. */
function programFiles(): BuiltFile[] {
  return packed.files
    .filter((file) => /^dist\/.*\.js$/.test(file) && !file.startsWith("dist/console/"))
    .map((file) => ({ file, text: readFileSync(join(packed.packageFolder, file), "utf8") }));
}

const BUILT_IN = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));

/** Returns what a file imports although the installed package does not have it. */
function missingImports(
  { file, text }: BuiltFile,
  dependencies: Readonly<Record<string, string>>,
): string[] {
  const { module } = parseSync(file, text);
  const known = new Set(packed.files);
  return [
    ...module.staticImports.map((each) => each.moduleRequest.value),
    ...module.staticExports.flatMap((each) =>
      each.entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
      text.slice(start + 1, end - 1),
    ),
    ...[...text.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g)].map(([, name = ""]) => name),
  ].flatMap((name) => {
    if (BUILT_IN.has(name)) return [];
    const isFile = name.startsWith(".");
    const target = isFile ? normalize(join(dirname(file), name)) : packageOf(name);
    return (isFile ? known.has(target) : target in dependencies) ? [] : [`${file}: ${target}`];
  });
}

function packageOf(name: string): string {
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}
