import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { Command } from "commander";
import { expect, test } from "vitest";
import { SecretFiles } from "../src/app/secret-files.ts";
import type { CommandIo } from "../src/cli/command-context.ts";
import { commandLine } from "../src/cli/run-cli.ts";
import { ACTIONS } from "../src/kernel/changes/actions.ts";
import { parse } from "yaml";

import { environmentName, SETTINGS, type Setting } from "../src/kernel/config/settings.ts";
import { SPAN } from "../src/gateway/telemetry/build-spans.ts";
import { runCommand } from "./support/program.ts";

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

test("every command in the docs exists in the program, with the options that it is given", async () => {
  const wrong = await Promise.all(pages.map(wrongCommands));
  expect(wrong.flat()).toEqual([]);
  const planted = "`tokenmarket org remove X` and `tokenmarket serve --worker 4 --port 1`";
  expect(await wrongCommands({ file: "x", text: planted })).toEqual([
    "x: tokenmarket org remove X",
    "x: tokenmarket serve --worker 4 --port 1",
  ]);
});

async function wrongCommands({ file, text }: Page): Promise<string[]> {
  const written = text.matchAll(/(?:tokenmarket|cli\/main\.js) ([a-z][^`\n#|<>()]*)/g);
  const found = [...written].map(([, words = ""]) => words.trim());
  const isRight = await Promise.all(found.map(isCommand));
  return found
    .filter((_, at) => isRight[at] === false)
    .map((each) => `${file}: tokenmarket ${each}`);
}

/** Returns whether words like `org create "Acme" --email X` are a command with these options. */
async function isCommand(words: string): Promise<boolean> {
  const options = words.match(/--[a-z-]+/g) ?? [];
  const path = (/^[a-z-]+(?: [a-z-]+)*/.exec(words)?.[0] ?? "").replace(/ -.*/, "").split(" ");
  const [command = "", second] = path;
  const help = await helpOf(command);
  if (!help.startsWith(`Usage: tokenmarket ${command} `)) return false;
  const isGroup = /\[command\]/.test(help.split("\n")[0] ?? "");
  if (!isGroup || second === undefined) return hasOptions(help, options);
  const inner = await helpOf(command, second);
  const isInner = inner.startsWith(`Usage: tokenmarket ${command} ${second} `);
  return isInner && hasOptions(inner, options);
}

test("every command in a block of code has the options that the program requires", async () => {
  const file = "deploy/helm/tokenmarket/templates/NOTES.txt";
  const notes = { file, text: `\`\`\`sh\n${readFileSync(join(ROOT, file), "utf8")}\n\`\`\`` };
  const program = await commandLine({
    ...IO,
    secrets: new SecretFiles({}),
    setExitCode: () => undefined,
  });
  expect([...pages, notes].flatMap((page) => incompleteCommands(page, program))).toEqual([]);
  const planted = "```sh\ndocker compose run migrate org create X\ntokenmarket key list\n```";
  expect(incompleteCommands({ file: "x", text: planted }, program)).toEqual([
    "x: org create X: --email",
    "x: key list: --org",
  ]);
});

/** A context in which the commands are listed; none of them runs. */
const IO: CommandIo = {
  env: {},
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  exit: () => undefined,
};

function incompleteCommands({ file, text }: Page, program: Command): string[] {
  const blocks = [...text.replaceAll(/\\\n\s*/g, " ").matchAll(/^```sh\n(.*?)^```/gms)];
  const lines = blocks.flatMap(([, block = ""]) => block.split("\n"));
  return lines.flatMap((line) => {
    const written = /(?:tokenmarket|main\.js|run (?:--rm )?migrate) ([a-z][^#|]*)/.exec(line)?.[1];
    const words = written?.trim() ?? "";
    const [first, second] = words.split(" ");
    const group = program.commands.find((each) => each.name() === first);
    const command = group?.commands.find((each) => each.name() === second) ?? group;
    const needed = command?.options.filter(({ mandatory }) => mandatory) ?? [];
    const missing = needed.flatMap(({ long = "" }) => (words.includes(long) ? [] : [long]));
    return missing.map((option) => `${file}: ${words}: ${option}`);
  });
}

const helps = new Map<string, Promise<string>>();

/** Returns the help of a command. It is run once, as the pages name the same commands often. */
function helpOf(...words: readonly string[]): Promise<string> {
  const name = words.join(" ");
  const known = helps.get(name) ?? runCommand([...words, "--help"]).then(({ stdout }) => stdout);
  helps.set(name, known);
  return known;
}

function hasOptions(help: string, options: readonly string[]): boolean {
  const known = new Set(help.match(/--[a-z-]+/g));
  return options.every((option) => known.has(option));
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

test("the example CI workflow for providers runs existing commands and uploads their reports", async () => {
  const file = "examples/conformance/conformance.yaml";
  const workflow = parse(readFileSync(join(ROOT, file), "utf8")) as Workflow;
  expect(Object.keys(workflow.on)).toEqual(["schedule", "push", "workflow_dispatch"]);
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const text = steps.flatMap(({ run }) => run ?? []).join("\n");
  expect(await wrongCommands({ file, text })).toEqual([]);
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
});
