/** The console's pages, built once for the whole run: the program serves them and browsers open them. */
export default async function setUp(): Promise<void> {
  await pagesBuilt();
}

declare global {
  /** Each project of the run loads this file anew; the pages are built by the first. */
  var pagesOfThisRun: Promise<unknown> | undefined;
}

function pagesBuilt(): Promise<unknown> {
  globalThis.pagesOfThisRun ??= import("../../scripts/build-console.ts");
  return globalThis.pagesOfThisRun;
}
