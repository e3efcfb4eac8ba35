import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import type { ConformanceReport } from "../../src/listing-tools/index.ts";
import { KEY_VARIABLE, LISTINGS, manifestOf, type RealListing } from "./listings.ts";
import { findingsOf } from "./reasons.ts";
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
 * `npm run conformance:real` runs the conformance suite on servers of other vendors. The first run
 * installs them and compiles an inference engine, which takes a quarter of an hour and 1 GB below
 * `~/.cache/tokenmarket-clients`.
 */
const USAGE = `npm run conformance:real -- [options]
  --only ID     only the listings whose id contains this text
  --keep DIR    keep manifests, reports and logs of the servers in this folder
Exit code 1: a failure has no explanation in test/real-servers/reasons.ts.`;

const ROOT = resolve(import.meta.dirname, "../..");
const PROGRAM = ["--import", "tsx", join(ROOT, "src/cli/main.ts")];

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
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
    const outcomes: boolean[] = [];
    for (const listing of LISTINGS.filter(({ id }) => id.includes(values.only))) {
      const server = servers.find(({ name }) => name === listing.server);
      if (server !== undefined) outcomes.push(await runListing(folder, listing, server));
    }
    return outcomes.length > 0 && outcomes.every((isExplained) => isExplained) ? 0 : 1;
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    if (values.keep === undefined) rmSync(folder, { recursive: true });
  }
}

async function initByAsking(folder: string, { name, port }: RunningServer): Promise<void> {
  const where = ["--base-url", `http://127.0.0.1:${port}/v1`, "--api-key-env", KEY_VARIABLE];
  // Facts that the engine does not report: its context length and its operator's price.
  const said = ["--context", "8192", "--free", "--privacy-url", "https://example.com/privacy"];
  const into = ["--manifests", join(folder, "asked"), "--json"];
  const stdout = await runToEnd(
    process.execPath,
    [...PROGRAM, "manifest", "init", ...where, ...said, ...into],
    { env: { [KEY_VARIABLE]: KEY, TM_ALLOW_PRIVATE_UPSTREAMS: "1" } },
  );
  const { listed } = JSON.parse(stdout) as { readonly listed: readonly string[] };
  if (!listed.includes(`own/${TINY_MODEL}`)) throw new Error(`${name}: init listed ${stdout}`);
  process.stderr.write(`${name}: manifest init lists ${listed.join(", ")}\n`);
}

/** Runs the suite as a provider would. Returns true if every finding has a known reason. */
async function runListing(
  folder: string,
  listing: RealListing,
  server: RunningServer,
): Promise<boolean> {
  const manifest = join(folder, `${listing.id}.json`);
  const report = join(folder, `${listing.id}.report.json`);
  writeFileSync(manifest, `${JSON.stringify(manifestOf(listing, server), undefined, 2)}\n`);
  process.stderr.write(`\n${listing.title}\n`);
  const options = ["--allow-private", "--timeout", "30", "--json", report];
  const stdout = await runToEnd(
    process.execPath,
    [...PROGRAM, "conformance", "run", manifest, ...options],
    { env: { [KEY_VARIABLE]: KEY }, mayFail: true },
  );
  process.stdout.write(stdout);
  writeFileSync(join(folder, `${listing.id}.stdout.txt`), stdout);
  const reported = JSON.parse(readFileSync(report, "utf8")) as ConformanceReport;
  const findings = findingsOf(listing.id, reported);
  for (const { text } of findings) process.stdout.write(`${text}\n`);
  return findings.every(({ isExplained }) => isExplained);
}
