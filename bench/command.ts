import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import type { DisposalStack } from "../src/app/disposal-stack.ts";
import { systemClock } from "../src/core/time.ts";
import type { MachineFacts } from "./results.ts";

/* What the commands of this folder share. */

const ROOT = fileURLToPath(new URL("..", import.meta.url));

export function buildGateway(say: (line: string) => void): void {
  say("building dist/");
  const built = spawnSync("npm", ["run", "build"], { cwd: ROOT, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
}

/** Of the last minute. */
export function loadAverage(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

export function machineFacts(loadAverageAtStart: number): MachineFacts {
  const cores = cpus();
  return {
    cpu: (cores[0]?.model ?? "unknown").trim(),
    cores: cores.length,
    kernel: release().split(".", 2).join("."),
    loadAverageAtStart,
  };
}

/** YYYY-MM-DD */
export function today(): string {
  return new Date(systemClock.nowMs()).toISOString().slice(0, 10);
}

/** `npm run …` as it was typed. */
export function commandLine(script: string, words: readonly string[]): string {
  return [`npm run ${script}`, ...(words.length === 0 ? [] : ["--", ...words])].join(" ");
}

/** Runs to the exit code; whatever ends the run, what was opened is closed. */
export async function runToEnd(
  resources: DisposalStack,
  run: () => Promise<number>,
): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void resources.close().finally(() => process.exit(1)));
  }
  try {
    process.exitCode = await run();
  } finally {
    await resources.close();
  }
}

/** Writes `bench/results/<folder>/<date>-node<version>.json` and returns its path. */
export function saveRun(
  folder: string,
  results: { readonly date: string; readonly node: string },
): string {
  const path = join(ROOT, "bench", "results", folder);
  mkdirSync(path, { recursive: true });
  const file = join(path, `${results.date}-node${results.node}.json`);
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  return file;
}

/** Writes a page of `docs/` and returns its path. */
export async function writePage(name: string, text: string): Promise<string> {
  const file = join(ROOT, "docs", name);
  const options = { parser: "markdown", printWidth: 100, proseWrap: "preserve" } as const;
  writeFileSync(file, await format(text, options));
  return file;
}
