import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { Command } from "commander";
import { expect, test } from "vitest";
import { ACTIONS } from "../src/kernel/changes/actions.ts";
import { parse } from "yaml";

import { environmentName, SETTINGS, type Setting } from "../src/kernel/config/settings.ts";
import { parseManifestFiles } from "../src/catalog/index.ts";
import { CHECK_IDS } from "../src/listing-tools/index.ts";
import { SPAN } from "../src/gateway/telemetry/build-spans.ts";
import { allCommands } from "./support/terminal.ts";

const ROOT = resolve(import.meta.dirname, "..");

interface Page {
  readonly file: string;
  readonly text: string;
}

/** The pages for readers; `docs/decisions` is left out, because it describes the past. */
const pages: readonly Page[] = ["README.md", ...pagesIn("docs"), ...pagesIn("examples")]
  .filter((file) => !file.startsWith("docs/decisions/"))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8") }));

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));
}

test("every relative link in the docs leads to an existing file", () => {
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap(deadLinks)).toEqual([]);
  expect(deadLinks({ file: "docs/x.md", text: "[a](limits.md#b) [c](gone.md)" })).toEqual([
    "docs/x.md: gone.md",
  ]);
});

function deadLinks({ file, text }: Page): string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => !existsSync(join(ROOT, dirname(file), target)))
    .map((target) => `${file}: ${target}`);
}

test("every TM_ variable in the docs belongs to a setting or to a client", () => {
  expect(pages.flatMap(unknownVariables)).toEqual([]);
  expect(unknownVariables({ file: "x", text: "`TM_PORTS`" })).toEqual(["x: TM_PORTS"]);
});

/** Variables of a client's address, key and model on the pages, and a switch of the tests. */
const OTHERS = ["TM_URL", "TOKEN_MARKET_KEY", "TM_MODEL", "TM_TEST_DEPTH"];

function unknownVariables({ file, text }: Page): string[] {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  const known = new Set([
    ...settings.map(({ path }) => environmentName(path)),
    ...settings
      .filter(({ secret }) => secret === true)
      .map(({ path }) => `${environmentName(path)}_FILE`),
    ...OTHERS,
  ]);
  return [...text.matchAll(/\bTM_[A-Z_]+/g)]
    .filter(([name]) => !known.has(name))
    .map(([name]) => `${file}: ${name}`);
}

test("every dotted name in the docs that looks like a setting is a setting", () => {
  expect(pages.flatMap(unknownSettings)).toEqual([]);
  expect(unknownSettings({ file: "x", text: "`timeouts.never_ms`" })).toEqual([
    "x: timeouts.never_ms",
  ]);
});

/** Names of spans, and of actions in the change log, look like settings but are none. */
const SPANS: readonly string[] = Object.values(SPAN);
const CHANGES: readonly string[] = Object.keys(ACTIONS);

function unknownSettings({ file, text }: Page): string[] {
  const known = new Set(
    Object.values(SETTINGS)
      .map(({ path }) => path)
      .concat(SPANS),
  );
  const groups = new Set([...known].flatMap((path) => /^(.+)\./.exec(path)?.[1] ?? []));
  return [...text.matchAll(/`([a-z_]+(?:\.[a-z_]+)*)\.[a-z_]+/g)]
    .filter(
      ([name, group = ""]) =>
        groups.has(group) && !known.has(name.slice(1)) && !CHANGES.includes(name.slice(1)),
    )
    .map(([name]) => `${file}: ${name.slice(1)}`);
}

const program = await allCommands();

test("every command in the docs exists in the program, with the options that it is given", () => {
  expect(pages.flatMap(wrongCommands)).toEqual([]);
  const planted = "`tokenmarket org remove X` and `tokenmarket serve --worker 4 --port 1`";
  expect(wrongCommands({ file: "x", text: planted })).toEqual([
    "x: tokenmarket org remove X",
    "x: tokenmarket serve --worker 4 --port 1",
  ]);
});

function wrongCommands({ file, text }: Page): string[] {
  const written = text.matchAll(
    /(?:tokenmarket|cli\/main\.js|run (?:-.* )?migrate) ([a-z][^`\n#|<>()]*)/g,
  );
  return [...written]
    .map(([, words = ""]) => words.trim())
    .filter((words) => !isCommand(words))
    .map((words) => `${file}: tokenmarket ${words}`);
}

/** Returns whether words like `org create "Acme" --email X` are a command with these options. */
function isCommand(words: string): boolean {
  const command = commandOf(words);
  const known = new Set(command?.options.map(({ long }) => long));
  const given = words.match(/--[a-z-]+/g) ?? [];
  return command !== undefined && given.every((option) => known.has(option) || option === "--help");
}

/** Returns the command that begins with these words; a group of commands if they name no more. */
function commandOf(words: string): Command | undefined {
  const [first, second] = (/^[a-z-]+(?: [a-z][a-z-]*)?/.exec(words)?.[0] ?? "").split(" ");
  const command = program.commands.find((each) => each.name() === first);
  if (second === undefined || command?.commands.length === 0) return command;
  return command?.commands.find((each) => each.name() === second);
}

test("every command in a block of code has the options that the program requires", () => {
  const file = "deploy/helm/tokenmarket/templates/NOTES.txt";
  const notes = { file, text: `\`\`\`sh\n${readFileSync(join(ROOT, file), "utf8")}\n\`\`\`` };
  expect([...pages, notes].flatMap(incompleteCommands)).toEqual([]);
  const planted = "```sh\ndocker compose run migrate org create X\ntokenmarket key list\n```";
  expect(incompleteCommands({ file: "x", text: planted })).toEqual([
    "x: org create X: --email",
    "x: key list: --org",
  ]);
});

function incompleteCommands({ file, text }: Page): string[] {
  const blocks = [...text.replaceAll(/\\\n\s*/g, " ").matchAll(/^```sh\n(.*?)^```/gms)];
  const lines = blocks.flatMap(([, block = ""]) => block.split("\n"));
  return lines.flatMap((line) => {
    const written = /(?:tokenmarket|main\.js|run (?:-.* )?migrate) ([a-z][^#|]*)/.exec(line)?.[1];
    const words = written?.trim() ?? "";
    const needed = commandOf(words)?.options.filter(({ mandatory }) => mandatory) ?? [];
    const missing = needed.flatMap(({ long = "" }) => (words.includes(long) ? [] : [long]));
    return missing.map((option) => `${file}: ${words}: ${option}`);
  });
}

const conformance = readFileSync(join(ROOT, "docs/conformance.md"), "utf8");

test("the manifest that the guide for providers starts from is valid", () => {
  const [, text = ""] = /```json\n(.*?)```/s.exec(conformance) ?? [];
  expect(parseManifestFiles([{ file: "lab.json", text }])).toMatchObject({ ok: true });
  const broken = text.replace("wire_a", "wire_x");
  expect(parseManifestFiles([{ file: "lab.json", text: broken }])).toMatchObject({ ok: false });
});

test("every check has a section on how to repair its failures", () => {
  const sections = [...conformance.matchAll(/^### (C\d+): /gm)].map(([, id]) => id);
  expect(sections).toEqual([...CHECK_IDS]);
});

test("no page, example or console page runs or installs a package of the public registry as the program", () => {
  const files = ["examples/conformance/conformance.yaml", FOR_PROVIDERS];
  const others = files.map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8") }));
  expect([...pages, ...others].flatMap(foreignPrograms)).toEqual([]);
  const text = "npx --yes tokenmarket x\nnpm install --save tokenmarket\nnpm i ./tokenmarket-1.tgz";
  expect(foreignPrograms({ file: "x", text })).toEqual([
    "x: npx --yes tokenmarket",
    "x: npm install --save tokenmarket",
  ]);
  const forProviders = [...pages, ...others].filter(({ file }) =>
    /conformance|provider/.test(file),
  );
  const npx = forProviders.flatMap(({ text: all }) => all.match(/\bnpx .*?tokenmarket/g) ?? []);
  expect(new Set(npx)).toEqual(new Set(["npx --no-install tokenmarket"]));
  const { version } = parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    version: string;
  };
  const written = [...pages, ...others].flatMap(({ text: all }) => all.match(FILE) ?? []);
  expect(new Set(written)).toEqual(new Set([`tokenmarket-${version}.tgz`]));
});

const FILE = /\btokenmarket-[\d.]+tgz/g;
const FOR_PROVIDERS = "console/src/pages/providers/for-providers-page.tsx";

/** What takes the program from the public registry: `npx --yes` does, where it is not installed. */
function foreignPrograms({ file, text }: Page): string[] {
  const found =
    /\bnpx (?:-y|--yes) tokenmarket\b|\bnpm (?:install|i|add)(?: -\S+)* tokenmarket(?![\w.-]*tgz)\b/g;
  return [...text.matchAll(found)].map(([words]) => `${file}: ${words}`);
}

interface Workflow {
  readonly on: object;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
}

interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, unknown>>;
}

test("the example CI workflow for providers runs existing commands and uploads their reports", () => {
  const file = "examples/conformance/conformance.yaml";
  const workflow = parse(readFileSync(join(ROOT, file), "utf8")) as Workflow;
  expect(Object.keys(workflow.on)).toEqual(["schedule", "push", "workflow_dispatch"]);
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const text = steps.flatMap(({ run }) => run ?? []).join("\n");
  expect(wrongCommands({ file, text })).toEqual([]);
  expect(text.match(/tokenmarket \S+ \S+/g)).toEqual([
    "tokenmarket manifest check",
    "tokenmarket conformance run",
  ]);
  const written = [...text.matchAll(/--(?:json|markdown|junit|evidence) (\S+)/g)];
  const kept = steps.find(({ uses }) => uses?.startsWith("actions/upload-artifact@"))?.with?.[
    "path"
  ];
  expect(written.map(([, name]) => name)).toEqual(String(kept).trim().split("\n"));
  expect(written).toHaveLength(4);
  const keyed = steps.filter(({ env }) => env !== undefined);
  expect(keyed.map(({ run }) => run?.includes("conformance run"))).toEqual([true]);
  expect(text.split("\n")[0]).toBe('npm install --no-save --ignore-scripts "$PROGRAM"');
});
