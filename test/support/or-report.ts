/** Returns `isThere`. If it is false, also prints what is not tested. */
export function orReport(isThere: boolean, untested: string): boolean {
  if (!isThere) process.stderr.write(`\n!!! SKIPPED: ${untested}. Install it and run again.\n\n`);
  return isThere;
}
