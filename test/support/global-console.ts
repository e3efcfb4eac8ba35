/**
 * Builds the console's pages once for the whole run. The program serves them, and browsers open
 * them.
 */
export default async function setUp(): Promise<void> {
  await pagesBuilt();
}

declare global {
  /** Builds the pages once: each project of the run loads this file again. */
  var pagesOfThisRun: Promise<unknown> | undefined;
}

function pagesBuilt(): Promise<unknown> {
  globalThis.pagesOfThisRun ??= import("../../scripts/build-console.ts");
  return globalThis.pagesOfThisRun;
}
