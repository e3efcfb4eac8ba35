import type { BenchResults } from "./results.ts";
import { markdownTables, tableNotes } from "./table.ts";

/** docs/performance.md of these saved runs, one for each Node version. */
export function performancePage(runs: readonly BenchResults[]): string {
  const commands = [...new Set(runs.map((run) => run.command))];
  return `# Performance

Written by \`npx tsx bench/report.ts\` from the saved runs; change it there.

To reproduce: \`npx tsx bench/install-peers.ts\`, \`apt install nginx redis-server\`, then, with each
version of Node, ${commands.map((command) => `\`${command}\``).join(" or ")}.

${runs.map(sectionOf).join("\n\n")}

${WHAT_IS_MEASURED}`;
}

function sectionOf(results: BenchResults): string {
  const { machine, settings } = results;
  const versions = results.targets
    .filter((target) => target.version !== "")
    .map((target) => `${target.id} ${target.version}`);
  const warmed = results.targets.flatMap(({ id, warmedSeconds }) =>
    warmedSeconds === undefined ? [] : [`${id} ${warmedSeconds}`],
  );
  const settingsText = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  const tables = markdownTables(results).map(({ title, table }) => `### ${title}\n\n${table}`);
  const notes = tableNotes(results).map((note) => `- ${note}`);
  const parts = [
    `## Node ${results.node}`,
    `Measured on ${results.date} with Node ${results.node} on ${machine.cores} cores
(${machine.cpu}, Linux ${machine.kernel}, load average at start ${machine.loadAverageAtStart}).
Candidates: ${versions.join(", ")}. Settings: ${settingsText.join(", ")}.${
      warmed.length === 0 ? "" : `\nSeconds of warm-up of the first row: ${warmed.join(", ")}.`
    }`,
    ...tables,
    ...(notes.length === 0 ? [] : [notes.join("\n")]),
  ];
  return parts.join("\n\n");
}

const WHAT_IS_MEASURED = `## What is measured

All candidates run side by side in front of the same mock provider and are measured in turn, round
after round, so that a noisy neighbour hits all of them.

- Warm-up, the same rule for every candidate: before anything is measured each of its request and
  stream rows runs at the row's own load until the processor time of a request has not fallen by 3 %
  from some windows to as many next: 20 to 40 seconds for the first row of a process, 2 to 5
  for each later one (a shorter \`--warm-up\` shortens all of them alike). In its first six
  seconds a quarter of the gateway's time is that of the threads that compile and collect, after
  twenty it is about 3 %.
- A cell with two figures is minimum / median over the rounds; every other figure is a median, and
  ratios to nginx and to the floor are of the minimums.
- Requests and stream chunks: processor time of the gateway's own processes, user and system, all
  threads (nginx: its one worker and its master), from the kernel's accounting, divided by the
  answers or events that arrived in the same window. Wall time does not enter.
- Database: the same of the processes that the gateway needs beside itself, PostgreSQL and, with
  two workers, Redis. Together: the sum of both.
- The gateway runs with everything on: keys, limits, a durable hold before and a settlement after
  each request, generation records, request logs. nginx checks and bills nothing; the Node floor
  looks up a key and reads the usage.
- The peers with all on check virtual keys and budgets and log every request: Bifrost in SQLite,
  which it writes itself, LiteLLM in a PostgreSQL with the settings of the gateway's own. A bare
  peer relays and translates, and keeps no book; Portkey has no more. LiteLLM runs one worker; it is
  measured with 8 connections and 50 streams, over longer windows, because it answers so slowly.
- Bifrost core is the library of that peer (a Go module) below a handler of ours that reads a chat
  request, calls the library and writes its answer: no keys, no budgets, no log, wire_a clients only. Its
  HTTP program cannot be fetched where the runs are made and does more, so this is a lower bound.
  It is shown and decides nothing: "Next best" counts Bifrost only where the program was measured.
- "Next best" is the cheapest peer divided by the gateway with its database: of each peer with all
  on, or bare where that was not measured. A question mark: a peer is missing from the comparison.
- On a translated row nginx relays the client's own wire, because it cannot translate, and the
  floor is that of the same request on one wire.
- Refused: the same request with a key that is not known, with a body that is not JSON, and from an
  organization without credit, compared with the same request served.
- Batches and collections are counted by the gateway itself and read before and after the window.
- Memory: growth of resident memory while the streams are open, divided by their number, on a
  freshly started process that has served a few streams before.
- Added p50: the median latency at a fixed rate of requests minus that of the mock provider alone.
- The mock provider and the load generator are raw sockets with prepared bytes
  (\`bench/mock-provider.ts\`, \`bench/load.ts\`): about 10 us a request at 1 KB, less than nginx. At
  200 KB and above reading the body costs them more than nginx, so nginx is not quite saturated.
- Every request row is probed first: an answer that is not of the client's wire, with its text and
  usage, or a stream without its last event, makes the row a problem and no figure.
`;
