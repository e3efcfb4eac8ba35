import { run as runCall } from "./call.ts";
import type { Context, Report } from "./program.ts";

export const USAGE: string = `npm run bench -- growth [options]
  What a call costs on a grown installation beside an empty one. Takes the options of \`call\`, and
  --organizations 1000   of the grown installation
  --keys 100000
  --listings 10000
  --attempts 5000000     finished, in the journal
  --days 60              of partitions`;

const ROWS = ["--only", "1kb-same,1kb-50-orgs", "--targets", "gateway,gateway-grown"];

export function run(words: readonly string[], context: Context): Promise<Report> {
  return runCall([...ROWS, "--rounds", "5", "--seconds", "3", ...words], context);
}
