import type { Cheat, CheatName } from "../../src/dev/simulator/cheats.ts";
import { HOSTS } from "./conformance-run.ts";

/** A cheat, and the checks that failed by host; a host that is absent was not asked. */
export interface Caught {
  readonly name: CheatName;
  readonly cheat: Cheat;
  readonly by: ReadonlyMap<string, readonly string[]>;
}

export interface HonestRuns {
  readonly host: string;
  readonly runs: number;
  readonly passed: number;
}

/** The page of what the suite has caught, as Markdown. */
export function cheatPage(caught: readonly Caught[], honest: readonly HonestRuns[]): string {
  const hosts = HOSTS.map(({ name }) => name);
  const rows = caught.map(({ name, cheat, by }) => [
    `\`${name}\``,
    cheat.does,
    ...hosts.map((host) => by.get(host)?.join(", ") ?? ""),
  ]);
  const passed = [
    "none",
    "Begins up to 4 ms late, the first answer 400 ms, and answers one request of each run with 429.",
    ...hosts.map((host) => {
      const runs = honest.find((each) => each.host === host);
      return runs === undefined ? "" : `${runs.passed} of ${runs.runs} passed`;
    }),
  ];
  return [
    "# What the conformance suite catches",
    "",
    "Made by the tests (`test/e2e/conformance-cheats.test.ts`): every cheat of the simulator against every",
    "check, over HTTP. A cell names all checks that failed; it is empty where the listing has nothing that",
    "the cheat is about.",
    "",
    ...table(["Cheat", "What it does", ...hosts], [...rows, passed]),
    "",
  ].join("\n");
}

/** A table whose columns are aligned, as the formatter of the project would write it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
