import { once } from "node:events";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import type { Paper } from "./paper.ts";

const HEAP_MIB_MAX = 256;
const PRINT_MS_MAX = 60_000;

/**
 * Prints one document at a time, in a thread that starts with the first one: loading the library
 * and its fonts takes half a second, which would block all calls.
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
  try {
    const signal = AbortSignal.timeout(PRINT_MS_MAX);
    const [bytes] = (await once(worker, "message", { signal })) as [Uint8Array];
    worker.unref();
    return Buffer.from(bytes);
  } catch (fault) {
    // The next document, which may be waiting already, gets a new thread.
    if (thread === worker) thread = undefined;
    void worker.terminate();
    throw fault;
  }
}

function startThread(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MIB_MAX };
  const worker = new Worker(loadText(), { eval: true, execArgv: [], resourceLimits });
  const forget = (): void => {
    if (thread === worker) thread = undefined;
  };
  worker.on("error", forget).once("exit", forget);
  thread = worker;
  return worker;
}

/** Returns the thread's code, which registers `tsx` first if the program runs from sources. */
function loadText(): string {
  const isSource = import.meta.url.endsWith(".ts");
  const printer = new URL(`./print-worker.${isSource ? "ts" : "js"}`, import.meta.url).href;
  if (!isSource) return `import("${printer}")`;
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx/esm"));
  const loader = new URL("api/index.mjs", tsx).href;
  return `import("${loader}").then(({ register }) => (register(), import("${printer}")))`;
}
