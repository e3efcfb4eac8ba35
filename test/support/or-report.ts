/** Says in the output of the run what was not tested if `isThere` is false, and returns it. */
export function orReport(isThere: boolean, untested: string): boolean {
  if (!isThere) process.stderr.write(`\n!!! SKIPPED: ${untested}. Install it and run again.\n\n`);
  return isThere;
}
