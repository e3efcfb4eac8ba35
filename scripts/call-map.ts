import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { awaitReady, startProgram } from "../test/support/tethered-program.ts";

/**
 * `npm run call-map` lists the named functions of the built program that run for one streamed call
 * whose client and provider use the same wire. V8's coverage counts them. Functions that also run
 * in an idle program are left out, and so is the simulated provider, which shares the process.
 */
const USAGE = `npm run call-map -- [options]
  --functions   every function, not only the files
  --json        print one JSON document on standard output`;

const ROOT = resolve(import.meta.dirname, "..");
const COMMAND_FILE = join(ROOT, "dist/cli/main.js");
const READINGS = ["warm-up", "call", "idle", "idle"] as const;

const { values } = parseArgs({
  options: {
    functions: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

interface CalledFile {
  /** Path in `dist/`, which has the layout of `src/`. */
  readonly file: string;
  readonly lines: number;
  readonly functions: readonly string[];
}

/**
 * Returns a module to preload. On each SIGUSR2 it writes which functions ran since the last signal.
 */
function preload(folder: string): string {
  const text = `
    import { Session } from "node:inspector";
    import { renameSync, writeFileSync } from "node:fs";
    const session = new Session();
    session.connect();
    session.post("Profiler.enable");
    session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    let reading = 0;
    process.on("SIGUSR2", () => session.post("Profiler.takePreciseCoverage", (_fault, taken) => {
      const file = ${JSON.stringify(folder)} + "/reading-" + reading++ + ".json";
      writeFileSync(file + ".new", JSON.stringify(taken.result));
      renameSync(file + ".new", file);
    }));`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

async function readCalledFiles(): Promise<CalledFile[]> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-call-map-"));
  const free = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
  const program = await startProgram({
    command: process.execPath,
    args: [
      "--import",
      preload(folder),
      COMMAND_FILE,
      "dev",
      ...free,
      "--data",
      folder,
      "--log",
      "json",
    ],
    logFile: join(folder, "log"),
    env: { NODE_ENV: "production" },
  });
  try {
    const { url, key } = await awaitReady(program, () => readAddress(program.log()));
    const readings: ScriptCoverage[][] = [];
    for (const [at, reading] of READINGS.entries()) {
      if (reading !== "idle") await callOnce(url, key);
      else await sleep(1_000);
      process.kill(program.processId, "SIGUSR2");
      readings.push(await readReading(join(folder, `reading-${at}.json`)));
    }
    const [, called = [], ...idle] = readings;
    return listCalled(called, new Set(idle.flatMap(keysOfRun)));
  } finally {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function readAddress(log: string): { readonly url: string; readonly key: string } | undefined {
  const url = /"gateway_url":"([^"]+)"/.exec(log)?.[1];
  const key = /Bearer (\w+)/.exec(log)?.[1];
  return url === undefined || key === undefined ? undefined : { url, key };
}

async function callOnce(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim/echo-a",
      stream: true,
      messages: [{ role: "user", content: "Say hello" }],
    }),
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes("[DONE]")) throw new Error(text);
  // The call can cause work after its last byte, for example its line in the application log.
  await sleep(300);
}

async function readReading(file: string): Promise<ScriptCoverage[]> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as ScriptCoverage[];
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`${file} was not written`);
}

function functionsRun(reading: readonly ScriptCoverage[]) {
  return reading
    .filter(({ url }) => url.startsWith("file://") && url.includes("/dist/"))
    .filter(({ url }) => !url.includes("/dist/dev/"))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName, ranges }) => ({
          url,
          functionName,
          at: ranges[0]?.startOffset ?? 0,
        })),
    );
}

function keysOfRun(reading: readonly ScriptCoverage[]): string[] {
  return functionsRun(reading).map(({ url, at }) => `${url}:${at}`);
}

function listCalled(reading: readonly ScriptCoverage[], idle: ReadonlySet<string>): CalledFile[] {
  const called = functionsRun(reading)
    .filter(({ functionName }) => functionName !== "")
    .filter(({ url, at }) => !idle.has(`${url}:${at}`));
  return [...new Set(called.map(({ url }) => url))]
    .map((file) => ({
      file: relative(join(ROOT, "dist"), fileURLToPath(file)),
      lines: readFileSync(fileURLToPath(file), "utf8").split("\n").length,
      functions: called.filter(({ url }) => url === file).map(({ functionName }) => functionName),
    }))
    .toSorted((one, other) => one.file.localeCompare(other.file));
}

if (values.help) process.stdout.write(`${USAGE}\n`);
else {
  const files = await readCalledFiles();
  const functions = files.reduce((sum, each) => sum + each.functions.length, 0);
  const lines = files.reduce((sum, each) => sum + each.lines, 0);
  const rows = files.map((each) => {
    const names = values.functions ? `  ${each.functions.join(", ")}` : "";
    return `${String(each.functions.length).padStart(4)} functions  ${each.file}${names}`;
  });
  const sum = `${files.length} files, ${lines} lines in them, ${functions} named functions`;
  const answer = { files: files.length, lines, functions, called: files };
  process.stdout.write(
    values.json ? `${JSON.stringify(answer)}\n` : `${[...rows, sum].join("\n")}\n`,
  );
}
