import { CHECK_IDS, type ConformanceReport } from "../../src/listing-tools/index.ts";
import type { RealListing } from "./listings.ts";
import { type CheckLine, reasonFor } from "./reasons.ts";
import type { RealServer } from "./servers.ts";

export interface RealRun {
  readonly listing: RealListing;
  readonly report: ConformanceReport;
  readonly exitCode: number | null;
}

export interface PageInput {
  readonly command: string;
  readonly date: string;
  /** Versions of what ran the suite. */
  readonly machine: string;
  readonly servers: readonly RealServer[];
  readonly runs: readonly RealRun[];
}

/** The findings of these runs as Markdown. */
export function realServersPage({ command, date, machine, servers, runs }: PageInput): string {
  const head = ["Listing", "Verdict", "Exit code", ...CHECK_IDS];
  const rows = runs.map(({ listing, report, exitCode }) => [
    listing.title,
    `**${report.verdict}**`,
    String(exitCode),
    ...CHECK_IDS.map((id) => linesOf(report).find((line) => line.id === id)?.status ?? ""),
  ]);
  return `# The conformance suite on servers that are not ours

\`${command}\` wrote this page; it installs the servers in pinned versions from their registries,
makes the tiny model, and runs \`conformance run\` on a manifest for each listing. Run on ${date} with ${machine}.
What each check promises, and how to repair what it finds: docs/conformance.md.

## The servers

${table(
  ["Server", "Version", "From", "Setting"],
  servers.map(({ name, version, registry, setting }) => [name, version, registry, setting]),
)}

No one of them is a provider's production service: a model of random weights or a mock is behind each. So the last
column of the findings separates what the server does from what only its model or its setting does.

## Results

${table(head, rows)}

${runs.map(findingsOf).join("\n\n")}
`;
}

/** Findings that no reason explains. */
export function unexplained(runs: readonly RealRun[]): readonly string[] {
  return runs.flatMap(({ listing, report }) =>
    findingLines(report)
      .filter((line) => reasonFor(listing.id, line) === undefined)
      .map(({ id, message }) => `${listing.id}: ${id}: ${message}`),
  );
}

function findingsOf({ listing, report }: RealRun): string {
  const lines = findingLines(report).map((line) => {
    const { fault, sentence } = reasonFor(listing.id, line) ?? NOT_EXPLAINED;
    const evidence = line.evidence === undefined ? "" : `\`${JSON.stringify(line.evidence)}\``;
    return [`${line.id} ${line.title}`, line.status, line.message, evidence, sentence, fault];
  });
  const spent = `$${report.spend_usd} by the listing's prices`;
  const intro = `### ${listing.title}\n\n${Math.round(report.duration_ms / 1000)} s, ${spent}.`;
  if (lines.length === 0) return `${intro} Nothing was found.`;
  const head = ["Check", "Status", "What was found", "Evidence", "What it is", "Whose"];
  return `${intro}\n\n${table(head, lines)}`;
}

const NOT_EXPLAINED = { fault: "not known", sentence: "Not explained yet." };

function findingLines(report: ConformanceReport): readonly CheckLine[] {
  return linesOf(report).filter(({ status }) => status !== "pass" && status !== "skip");
}

function linesOf(report: ConformanceReport): readonly CheckLine[] {
  return report.models.flatMap(({ checks }) => checks);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
