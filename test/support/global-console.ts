/** Builds the console's pages once in a run, for the program to serve and browsers to open. */
export default async function setUp(): Promise<void> {
  await pagesBuilt();
}

declare global {
  /** Each project of the run loads this file anew, but the pages are built once. */
  var pagesOfThisRun: Promise<unknown> | undefined;
}

function pagesBuilt(): Promise<unknown> {
  globalThis.pagesOfThisRun ??= import("../../scripts/build-console.ts");
  return globalThis.pagesOfThisRun;
}
