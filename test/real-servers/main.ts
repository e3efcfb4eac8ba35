import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { format } from "prettier";

import type { ConformanceReport } from "../../src/listing-tools/index.ts";
import { KEY_VARIABLE, LISTINGS, manifestOf, type RealListing } from "./listings.ts";
import { type RealRun, realServersPage, unexplained } from "./page.ts";
import { runToEnd } from "./run-to-end.ts";
import {
  KEY,
  type RunningServer,
  startAimock,
  startLiteLlm,
  startLlama,
  TINY_MODEL,
} from "./servers.ts";

/**
 * `npm run conformance:real`: the conformance suite on servers that are not ours. The first run
 * installs them, which compiles an inference engine: a quarter of an hour, and 1 GB below
 * `~/.cache/tokenmarket-clients`.
 */
const USAGE = `npm run conformance:real -- [options]
  --only ID     only the listings whose id contains this text
  --save        write artefacts/conformance-real-servers.md
  --keep DIR    keep manifests, reports and logs of the servers in this folder
Exit code 1: a failure has no explanation in test/real-servers/reasons.ts.`;

const ROOT = resolve(import.meta.dirname, "../..");
const PAGE = join(ROOT, "artefacts/conformance-real-servers.md");
const PROGRAM = ["--import", "tsx", join(ROOT, "src/cli/main.ts")];

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    save: { type: "boolean", default: false },
    keep: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${USAGE}\n`);
else process.exitCode = await runAll();

async function runAll(): Promise<number> {
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), "tokenmarket-real-servers-"));
  mkdirSync(folder, { recursive: true });
  const servers: RunningServer[] = [];
  try {
    servers.push(await startLlama(folder, "llama-cpp-python"));
    const llama = await startLlama(folder, "llama-cpp-python, set up");
    servers.push(llama);
    await initByAsking(folder, llama);
    servers.push(await startLiteLlm(folder, llama));
    servers.push(await startAimock(folder));
    const runs: RealRun[] = [];
    for (const listing of LISTINGS.filter(({ id }) => id.includes(values.only))) {
      const server = servers.find(({ name }) => name === listing.server);
      if (server !== undefined) runs.push(await runListing(folder, listing, server));
    }
    if (values.save) await savePage(servers, runs);
    const missing = unexplained(runs);
    for (const each of missing) process.stderr.write(`not explained: ${each}\n`);
    return missing.length === 0 && runs.length > 0 ? 0 : 1;
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    if (values.keep === undefined) rmSync(folder, { recursive: true });
  }
}

/** The manifest that `manifest init` makes of the engine by asking it; the check of it is in there. */
async function initByAsking(folder: string, { name, port }: RunningServer): Promise<void> {
  const where = ["--base-url", `http://127.0.0.1:${port}/v1`, "--api-key-env", KEY_VARIABLE];
  // The engine says neither: its context, and what its operator asks for it.
  const said = ["--context", "8192", "--free", "--privacy-url", "https://example.com/privacy"];
  const { stdout } = await runToEnd(
    process.execPath,
    [
      ...PROGRAM,
      "manifest",
      "init",
      ...where,
      ...said,
      "--manifests",
      join(folder, "asked"),
      "--json",
    ],
    { env: { [KEY_VARIABLE]: KEY, TM_ALLOW_PRIVATE_UPSTREAMS: "1" } },
  );
  const { listed } = JSON.parse(stdout) as { readonly listed: readonly string[] };
  if (!listed.includes(`own/${TINY_MODEL}`)) throw new Error(`${name}: init listed ${stdout}`);
  process.stderr.write(`${name}: manifest init lists ${listed.join(", ")}\n`);
}

/** As a provider would run it: the command, a manifest and a key. */
async function runListing(
  folder: string,
  listing: RealListing,
  server: RunningServer,
): Promise<RealRun> {
  const manifest = join(folder, `${listing.id}.json`);
  const report = join(folder, `${listing.id}.report.json`);
  writeFileSync(manifest, `${JSON.stringify(manifestOf(listing, server), undefined, 2)}\n`);
  process.stderr.write(`\n${listing.title}\n`);
  const markdown = join(folder, `${listing.id}.report.md`);
  const junit = join(folder, `${listing.id}.report.xml`);
  const outputs = ["--json", report, "--markdown", markdown, "--junit", junit];
  const { code, stdout } = await runToEnd(
    process.execPath,
    [...PROGRAM, "conformance", "run", manifest, "--allow-private", "--timeout", "30", ...outputs],
    { env: { [KEY_VARIABLE]: KEY }, mayFail: true },
  );
  process.stdout.write(stdout);
  writeFileSync(join(folder, `${listing.id}.stdout.txt`), stdout);
  return {
    listing,
    report: JSON.parse(readFileSync(report, "utf8")) as ConformanceReport,
    exitCode: code,
  };
}

async function savePage(servers: readonly RunningServer[], runs: readonly RealRun[]) {
  const text = realServersPage({
    command: "npm run conformance:real -- --save",
    date: new Date().toISOString().slice(0, 10),
    machine: `Node ${process.version} on ${cpus().length} cores`,
    servers,
    runs,
  });
  mkdirSync(dirname(PAGE), { recursive: true });
  writeFileSync(PAGE, await format(text, { parser: "markdown", printWidth: 100 }));
}
