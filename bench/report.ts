import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { performancePage } from "./performance-page.ts";
import { loadResults } from "./results.ts";

/**
 * `npx tsx bench/report.ts` writes docs/performance.md from the saved runs: the newest one of each
 * Node major version.
 */
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));

const runs = loadResults();
if (runs.length === 0) throw new Error("nothing is saved in bench/results; run: npm run bench");
const page = await format(performancePage(runs), {
  parser: "markdown",
  printWidth: 100,
  proseWrap: "preserve",
});
writeFileSync(PAGE, page);
process.stdout.write(`wrote ${PAGE}\n`);
