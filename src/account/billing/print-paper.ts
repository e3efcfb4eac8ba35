import { once } from "node:events";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import type { Paper } from "./paper.ts";

const HEAP_MIB_MAX = 256;

/**
 * The document as a PDF file, one at a time. It is printed in a thread, which begins with the first
 * one: to load the library and its fonts takes half a second, and the event loop belongs to calls.
 */
export async function printPaper(paper: Paper): Promise<Buffer> {
  const printed = last.then(() => printInThread(paper));
  last = printed.catch(() => undefined);
  return await printed;
}

let last: Promise<unknown> = Promise.resolve();
let thread: Worker | undefined;

async function printInThread(paper: Paper): Promise<Buffer> {
  const worker = thread ?? startThread();
  worker.ref();
  worker.postMessage(paper, []);
  const [bytes] = (await once(worker, "message")) as [Uint8Array];
  worker.unref();
  return Buffer.from(bytes);
}

function startThread(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MIB_MAX };
  thread = new Worker(loadText(), { eval: true, execArgv: [], resourceLimits });
  thread.once("exit", () => (thread = undefined));
  return thread;
}

/** Loads the printer; from the sources a thread needs the loader of TypeScript as well. */
function loadText(): string {
  const isSource = import.meta.url.endsWith(".ts");
  const printer = new URL(`./print-worker.${isSource ? "ts" : "js"}`, import.meta.url).href;
  if (!isSource) return `import("${printer}")`;
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx/esm"));
  const loader = new URL("api/index.mjs", tsx).href;
  return `import("${loader}").then(({ register }) => (register(), import("${printer}")))`;
}
