import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DisposalStack } from "../src/app/disposal-stack.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import { table } from "../scripts/reference/markdown.ts";
import type { Program, Report } from "./program.ts";

/**
 * `npm run bench -- PROGRAM [options]` runs one measurement and prints it. It writes nothing below
 * `docs`: whoever measures again puts the figures into docs/performance.md or docs/reliability.md.
 */
const PROGRAMS: Readonly<Record<string, () => Promise<Program>>> = {
  call: () => import("./call.ts"),
  ledger: () => import("./ledger.ts"),
  growth: () => import("./growth.ts"),
  "big-books": () => import("./big-books.ts"),
  soak: () => import("./soak.ts"),
  pages: () => import("./pages.ts"),
  catalog: () => import("./catalog.ts"),
};
const FOLDER = fileURLToPath(new URL("../artefacts/bench/", import.meta.url));

const [name = "", ...given] = process.argv.slice(2);
const words = given.filter((word) => word !== "--save");
const load = PROGRAMS[name];
if (load === undefined) {
  process.stdout.write(
    `npm run bench -- PROGRAM [--save] [options], or --help behind a program's name\n` +
      `  PROGRAM   ${Object.keys(PROGRAMS).join(", ")}\n` +
      `  --save    also write the figures below artefacts/bench\n`,
  );
  process.exitCode = name === "" || name === "--help" ? 0 : 2;
} else process.exitCode = await runProgram(await load());

async function runProgram(program: Program): Promise<number> {
  if (words.includes("--help")) {
    process.stdout.write(`${program.USAGE}\n`);
    return 0;
  }
  const resources = new DisposalStack();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void resources.close().finally(() => process.exit(1)));
  }
  const head = headOf();
  try {
    const report = await program.run(words, { resources, say });
    const text = textOf(head, report);
    process.stdout.write(text);
    if (given.includes("--save")) save(text, report);
    return report.problems.length === 0 ? 0 : 1;
  } finally {
    await resources.close();
  }
}

function headOf(): string {
  const [cpu] = cpus();
  const typed = ["npm run bench --", name, ...words].join(" ");
  return (
    `Measured on ${today()} with Node ${process.versions.node} on ${cpus().length} cores ` +
    `(${(cpu?.model ?? "unknown").trim()}, Linux ${release().split(".", 2).join(".")}, ` +
    `load average at start ${(loadavg()[0] ?? 0).toFixed(2)}) by \`${typed}\`.`
  );
}

function textOf(head: string, { tables, problems }: Report): string {
  const parts = tables
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, headings, rows }) => `${title}\n\n${table(headings, rows)}`);
  const found = problems.map((problem) => `- PROBLEM: ${problem}`);
  return `${[head, ...parts, ...(found.length === 0 ? [] : [found.join("\n")])].join("\n\n")}\n`;
}

function save(text: string, report: Report): void {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name}-${today()}-node${process.versions.node}`);
  writeFileSync(`${file}.md`, text);
  writeFileSync(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
  say(`wrote ${file}.md and .json`);
}

function today(): string {
  return new Date(systemClock.nowMs()).toISOString().slice(0, 10);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
