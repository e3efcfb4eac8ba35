import { parentPort } from "node:worker_threads";

import { drawPaper, type Paper } from "./paper.ts";

/** A document to print, and its answer. */
export interface PrintAsked {
  readonly id: number;
  readonly paper: Paper;
}
export type PrintAnswer =
  | { readonly id: number; readonly ok: true; readonly bytes: Uint8Array }
  | { readonly id: number; readonly ok: false; readonly problem: string };

let last: Promise<void> = Promise.resolve();

parentPort?.on("message", (asked: PrintAsked) => {
  // One at a time, so that the memory of one is all that is needed.
  last = last.then(async () => parentPort?.postMessage(await print(asked)));
});

async function print({ id, paper }: PrintAsked): Promise<PrintAnswer> {
  try {
    return { id, ok: true, bytes: await drawPaper(paper) };
  } catch (fault) {
    return { id, ok: false, problem: fault instanceof Error ? fault.message : String(fault) };
  }
}
