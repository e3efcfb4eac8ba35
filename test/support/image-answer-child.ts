/** Passes one large image answer through the bridge; reports its peak memory and longest block. */
import { setImmediate as breathe } from "node:timers/promises";

import { imageFile, openBridge } from "../fixtures/images/image-kit.ts";

/** Sent by the parent: bytes of the image file, and of each part in which the answer arrives. */
export interface ImageAnswerOrder {
  readonly fileBytes: number;
  readonly pieceBytes: number;
}

export interface ImageAnswerCost {
  /** As the provider sends it; `writtenBytes` are those that the client gets. */
  readonly answerBytes: number;
  readonly writtenBytes: number;
  /** Peak of heap and external memory in bytes, less their size before the answer. */
  readonly peakBytes: number;
  /** The longest single step; each step counts by clock or processor time, whichever is less. */
  readonly slowestStepMs: number;
  /** The longest delay of a timer, by clock or processor time, whichever is less. */
  readonly timerLagMs: number;
}

const TIMER_MS = 5;
const COLLECT_EVERY_BYTES = 2 * 1024 * 1024;

let slowestStepMs = 0;
let timerLagMs = 0;
let peakBytes = 0;

function step(act: () => void): void {
  const tookMs = measureFromNow();
  act();
  slowestStepMs = Math.max(slowestStepMs, tookMs());
  peakBytes = Math.max(peakBytes, bytesNow());
}

/** Measures clock or processor time, whichever is less: other programs and threads add to one. */
function measureFromNow(): () => number {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  return () => {
    const clockMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    return Math.min(clockMs, (user + system) / 1000);
  };
}

function bytesNow(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function carry({ fileBytes, pieceBytes }: ImageAnswerOrder): Promise<ImageAnswerCost> {
  const head = imageFile("png", 3 * 1024).toString("base64");
  const tail = '"}],"usage":{"input_tokens":9,"output_tokens":9}}';
  const block = Buffer.from(Buffer.alloc(3 * pieceBytes, 7).toString("base64"));
  const bridge = openBridge();
  globalThis.gc?.();
  const before = bytesNow();
  peakBytes = before;
  let last = measureFromNow();
  const timer = setInterval(() => {
    timerLagMs = Math.max(timerLagMs, last() - TIMER_MS);
    last = measureFromNow();
  }, TIMER_MS);

  let answerBytes = 0;
  const push = (bytes: Buffer): void => {
    answerBytes += bytes.length;
    step(() => bridge.push(bytes));
  };
  push(Buffer.from(`{"data":[{"b64_json":"${head}`));
  const pieces = Math.ceil((fileBytes - 3 * 1024) / 3 / (pieceBytes / 4));
  for (let at = 0; at < pieces; at += 1) {
    // As a socket does, gives each part its own memory.
    const piece = Buffer.allocUnsafeSlow(pieceBytes);
    block.copy(piece);
    push(piece);
    // Parts that the bridge no longer holds must not count, however late they are collected.
    if (answerBytes % COLLECT_EVERY_BYTES < pieceBytes) globalThis.gc?.();
    if (at % 8 === 0) await breathe();
  }
  push(Buffer.from(tail));
  step(() => bridge.end());
  let writtenBytes = 0;
  step(() => {
    for (const piece of [bridge.finish("0.000018")].flat()) writtenBytes += piece.length;
  });
  await breathe();
  clearInterval(timer);
  return { answerBytes, writtenBytes, peakBytes: peakBytes - before, slowestStepMs, timerLagMs };
}

process.once("message", (order: ImageAnswerOrder) => {
  void carry(order).then((cost) => process.send?.(cost, () => process.exit(0)));
});
process.send?.("ready");
