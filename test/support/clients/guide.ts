import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { newFolder } from "../run-folder.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const GUIDE = join(ROOT, "examples/coding-agents/README.md");
const INSTALL = /^npm install -g (?<name>@?[^@\s]+)@(?<version>\S+)$/;

export interface Block {
  readonly language: string;
  readonly text: string;
}

export function guideBlocks(heading: string): readonly Block[] {
  const sections = readFileSync(GUIDE, "utf8").split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`the guide has no section "${heading}"`);
  const fences = section.matchAll(/^(?<indent> *)```(?<language>\w+)\n(?<text>.*?)^ *```$/gms);
  return [...fences].map(({ groups }) => ({
    language: groups?.["language"] ?? "",
    text: (groups?.["text"] ?? "").replaceAll(`\n${groups?.["indent"]}`, "\n").trim(),
  }));
}

export function guidePackages(headings: readonly string[]): Readonly<Record<string, string>> {
  const commands = headings.flatMap(guideBlocks).map(({ text }) => INSTALL.exec(text)?.groups);
  return Object.fromEntries(
    commands.flatMap((found) => (found ? [[found["name"], found["version"]]] : [])),
  ) as Record<string, string>;
}

export interface GuideRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface GuideEnvironment {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly programs?: string;
  /** Lines of the guide that name one of these variables are left out. */
  readonly without?: readonly string[];
}

/** Writes the files of a section of `GUIDE` to an empty home, and runs its commands. */
export async function followGuide(heading: string, input: GuideEnvironment): Promise<GuideRun> {
  const blocks = guideBlocks(heading).filter(({ text }) => !INSTALL.test(text));
  const folder = newFolder("guide");
  for (const { language, text } of blocks) {
    if (language === "sh" || language === "js") continue;
    const file = fileOf(text, folder);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, filledIn(text, input).replace("TM_URL/v1", `${input.url}/v1`));
  }
  const commands = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
  return await shell(filledIn(commands.join("\n"), input), folder, input);
}

/** Runs one complete block of a page, with the key and the model set, as `followGuide` does. */
export async function runPrinted(code: string, input: GuideEnvironment): Promise<GuideRun> {
  return await shell(filledIn(code, input), newFolder("guide"), input);
}

export async function runGuideScript(heading: string, input: GuideEnvironment): Promise<GuideRun> {
  const script = guideBlocks(heading).find(({ language }) => language === "js")?.text ?? "";
  const args = ["--input-type=module", "--eval", filledIn(script, input)];
  const env = { PATH: process.env["PATH"], TM_URL: input.url, TOKEN_MARKET_KEY: input.key };
  return await runFile(process.execPath, args, { cwd: ROOT, env });
}

function fileOf(text: string, folder: string): string {
  const path = /^(?:#|\/\/) (?<path>\S+)$/m.exec(text)?.groups?.["path"];
  if (path === undefined) throw new Error(`a block of the guide does not name its file:\n${text}`);
  return resolve(folder, path.replace(/^~\//, ""));
}

function filledIn(text: string, { model, without = [] }: GuideEnvironment): string {
  const lines = text.split("\n").filter((line) => !without.some((name) => line.includes(name)));
  return lines.join("\n").replaceAll("MODEL_ID", model);
}

async function shell(
  script: string,
  folder: string,
  { url, key, programs }: GuideEnvironment,
): Promise<GuideRun> {
  const path = process.env["PATH"] ?? "";
  const env = {
    PATH: programs === undefined ? path : `${programs}:${path}`,
    HOME: folder,
    TM_URL: url,
    TOKEN_MARKET_KEY: key,
  };
  // Coding agents work within the git repository in which they start.
  await runFile("git", ["init", "--quiet"], { cwd: folder, env });
  return await runFile("/bin/sh", ["-eu", "-c", script], { cwd: folder, env });
}

async function runFile(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<GuideRun> {
  return await new Promise((done) => {
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      done({ code: typeof error?.code === "number" ? error.code : error ? 1 : 0, stdout, stderr });
    });
    child.stdin?.end();
  });
}
