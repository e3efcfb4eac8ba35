import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { loadResults, type BenchResults } from "./results.ts";
import { markdownTable, tableNotes } from "./table.ts";

/**
 * `npx tsx bench/report.ts [FILE]` writes docs/performance.md from a saved run, the newest one
 * when no file is named.
 */
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));

const page = await format(performancePage(loadResults(process.argv[2])), {
  parser: "markdown",
  printWidth: 100,
  proseWrap: "preserve",
});
writeFileSync(PAGE, page);
process.stdout.write(`wrote ${PAGE}\n`);

function performancePage(results: BenchResults): string {
  const { machine, settings } = results;
  const versions = results.targets
    .filter((target) => target.version !== "")
    .map((target) => `${target.id} ${target.version}`);
  const settingsText = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  const notes = tableNotes(results).map((note) => `- ${note}`);
  return `# Performance

Written by \`npx tsx bench/report.ts\` from a saved run; change it there.

Measured on ${results.date} with Node ${results.node} on ${machine.cores} cores
(${machine.cpu}, Linux ${machine.kernel}, load average at start ${machine.loadAverageAtStart}).
Candidates: ${versions.join(", ")}. Settings: ${settingsText.join(", ")}.

To reproduce: \`npm ci --prefix bench/peer\`, \`apt install nginx\`, then \`${results.command}\`.

${markdownTable(results)}

Every cell is minimum / median over the rounds; ratios are of the minimums.

${notes.join("\n")}

## What is measured

All candidates run side by side in front of the same mock provider and are measured in turn, round
after round, so that a noisy neighbour hits all of them.

- Requests and stream chunks: processor time of the gateway's own process, user and system, all
  threads (nginx: its one worker and its master), from the kernel's accounting, divided by the
  answers or events that arrived in the same window. Wall time does not enter.
- The gateway runs with everything on: keys, limits, a durable hold before and a settlement after
  each request, generation records, request logs. nginx checks and bills nothing; the Node floor
  looks up a key and reads the usage; Portkey translates but keeps no book.
- On a translated row nginx relays the client's own wire, because it cannot translate.
- Memory: growth of resident memory while the streams are open, divided by their number, on a
  freshly started process that has served a few streams before.
- Added p50: the median latency at a fixed rate of requests minus that of the mock provider alone.
- The mock provider and the load generator are raw sockets with prepared bytes
  (\`bench/mock-provider.ts\`, \`bench/load.ts\`): about 10 us a request at 1 KB, less than nginx. At
  200 KB reading the body costs them more than nginx, so nginx is not quite saturated there.
- Every request row is probed first: an answer that is not of the client's wire, with its text and
  usage, or a stream without its last event, makes the row a problem and no figure.
`;
}
