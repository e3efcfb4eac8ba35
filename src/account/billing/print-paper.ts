import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import type { Paper } from "./paper.ts";
import type { PrintAnswer } from "./print-worker.ts";

/** Longer than a month's statements take to follow each other; then its memory is given back. */
const IDLE_MS = 60_000;
const HEAP_MIB_MAX = 256;

/**
 * The document as a PDF file. It is printed in a thread of its own, which begins with the first one:
 * to load the library and its fonts takes half a second, and the event loop belongs to calls.
 */
export async function printPaper(paper: Paper): Promise<Buffer> {
  printer ??= openPrinter(() => (printer = undefined));
  return await printer(paper);
}

let printer: ((paper: Paper) => Promise<Buffer>) | undefined;

interface Waiting {
  readonly done: (bytes: Buffer) => void;
  readonly failed: (fault: Error) => void;
}

function openPrinter(onEnd: () => void): (paper: Paper) => Promise<Buffer> {
  const worker = new Worker(startText(), {
    eval: true,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  });
  const waiting = new Map<number, Waiting>();
  let count = 0;
  let idle: NodeJS.Timeout | undefined;
  const end = (fault: Error): void => {
    onEnd();
    for (const { failed } of waiting.values()) failed(fault);
    waiting.clear();
  };
  worker.on("message", (answer: PrintAnswer) => {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.ok) asked?.done(Buffer.from(answer.bytes));
    else asked?.failed(new Error(`the document could not be printed: ${answer.problem}`));
    if (waiting.size > 0) return;
    worker.unref();
    idle = setTimeout(() => void stop(), IDLE_MS).unref();
  });
  const stop = async (): Promise<void> => {
    onEnd();
    await worker.terminate();
  };
  worker.on("error", end);
  worker.on("exit", () => end(new Error("the thread that prints documents has ended")));
  return async (paper) => {
    clearTimeout(idle);
    worker.ref();
    count += 1;
    const id = count;
    return await new Promise((done, failed) => {
      waiting.set(id, { done, failed });
      worker.postMessage({ id, paper });
    });
  };
}

/** Loads the printer; from the sources a thread needs the loader of TypeScript as well. */
function startText(): string {
  const [extension = ""] = /\.[jt]s$/.exec(new URL(import.meta.url).pathname) ?? [];
  const load = `import(${JSON.stringify(new URL(`./print-worker${extension}`, import.meta.url).href)})`;
  if (extension !== ".ts") return load;
  const loader = new URL(
    "api/index.mjs",
    pathToFileURL(createRequire(import.meta.url).resolve("tsx/esm")),
  ).href;
  return `import(${JSON.stringify(loader)}).then(({ register }) => (register(), ${load}))`;
}
