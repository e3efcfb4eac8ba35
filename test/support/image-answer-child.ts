/**
 * A process of its own that carries one large image answer through the bridge, and tells what that
 * took: memory at the highest, and how long the process could do nothing else.
 */
import { setImmediate as breathe } from "node:timers/promises";

import { imageFile, openBridge } from "../../src/wires/images/fixtures/image-kit.ts";

/** What the parent orders: the size of the file, and of the pieces that it comes in. */
export interface ImageAnswerOrder {
  readonly fileBytes: number;
  readonly pieceBytes: number;
}

export interface ImageAnswerCost {
  /** Bytes of the answer as the provider sends it, and as the client gets it. */
  readonly answerBytes: number;
  readonly writtenBytes: number;
  /** Heap and buffers at the highest, above what they were before. */
  readonly peakBytes: number;
  /** The longest single step: by the clock, or in processor time where that was less. */
  readonly slowestStepMs: number;
  /** The longest time that a timer had to wait beyond its own. */
  readonly timerLagMs: number;
}

const TIMER_MS = 5;
/** Memory is measured after so many bytes: asking takes longer than carrying a small piece. */
const MEASURED_EVERY_BYTES = 65_536;

let slowestStepMs = 0;
let timerLagMs = 0;
let peakBytes = 0;
let unmeasuredBytes = 0;

/** The machine may be busy with others, and the collector runs beside: neither is the step's. */
function step(act: () => void, bytes = MEASURED_EVERY_BYTES): void {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  act();
  const clockMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  slowestStepMs = Math.max(slowestStepMs, Math.min(clockMs, (user + system) / 1000));
  unmeasuredBytes += bytes;
  if (unmeasuredBytes < MEASURED_EVERY_BYTES) return;
  unmeasuredBytes = 0;
  peakBytes = Math.max(peakBytes, bytesNow());
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
  let lastMs = performance.now();
  const timer = setInterval(() => {
    timerLagMs = Math.max(timerLagMs, performance.now() - lastMs - TIMER_MS);
    lastMs = performance.now();
  }, TIMER_MS);

  let answerBytes = 0;
  const push = (bytes: Buffer): void => {
    answerBytes += bytes.length;
    step(() => bridge.push(bytes), bytes.length);
  };
  push(Buffer.from(`{"data":[{"b64_json":"${head}`));
  const pieces = Math.ceil((fileBytes - 3 * 1024) / 3 / (pieceBytes / 4));
  for (let at = 0; at < pieces; at += 1) {
    // A socket gives every piece in memory of its own.
    const piece = Buffer.allocUnsafeSlow(pieceBytes);
    block.copy(piece);
    push(piece);
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
