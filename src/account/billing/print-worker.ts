import { parentPort } from "node:worker_threads";

import { drawPaper, type Paper } from "./paper.ts";

parentPort?.on("message", (paper: Paper) => void answer(paper));

/** A fault ends the thread, and so fails only the document that it was printing. */
async function answer(paper: Paper): Promise<void> {
  parentPort?.postMessage(await drawPaper(paper), []);
}
