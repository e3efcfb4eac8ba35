import { createServer, type Socket } from "node:net";
import { systemClock } from "../src/kernel/core/time.ts";
import type { Wire } from "./chat-bodies.ts";
import { CANNED_ANSWERS, type CannedAnswers } from "./mock-answers.ts";

/**
 * The provider behind every measured gateway. This process reads only a request's path and
 * length and, in a small body, the wish for a stream. It writes prepared bytes, so that it costs
 * less than any gateway. Over IPC it sends its port and obeys `MockOrder`; it ends with its parent.
 */
export type MockOrder =
  | {
      readonly kind: "pace";
      readonly intervalMs: number;
      /** A new stream ends by itself after this many intervals. Default 3,000. */
      readonly eventsMax?: number;
    }
  | { readonly kind: "finish" };

const HEAD_END = Buffer.from("\r\n\r\n");
// One of the measured gateways writes JSON with a space after each colon.
const STREAM_WISHES = [Buffer.from('"stream":true'), Buffer.from('"stream": true')];
// No benchmark streams a larger body, so only small bodies are searched for `stream`.
const SEARCHED_BYTES_MAX = 16 * 1024;
// The default of `eventsMax`; a `finish` order can end a stream earlier.
const STREAM_EVENTS_MAX = 3_000;
const SLOTS = 25;

interface OpenStream {
  readonly socket: Socket;
  readonly answers: CannedAnswers;
  eventsLeft: number;
}

const slots: Set<OpenStream>[] = Array.from({ length: SLOTS }, () => new Set());
let intervalMs = 100;
let eventsMax = STREAM_EVENTS_MAX;
let nextSlot = 0;
let slotOfNextStream = 0;
let nextDueMs = systemClock.monotonicMs();

const server = createServer({ noDelay: true }, serveConnection);
server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, reportPort);
setInterval(emitDueSlots, 2);
process.on("message", (order) => obey(order as MockOrder));
process.on("disconnect", () => process.exit(0));

function reportPort(): void {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the mock has no port");
  process.send?.({ port: address.port });
}

function obey(order: MockOrder): void {
  if (order.kind === "pace") {
    intervalMs = order.intervalMs;
    eventsMax = order.eventsMax ?? STREAM_EVENTS_MAX;
  } else for (const slot of slots) for (const stream of slot) finishStream(stream, slot);
}

function serveConnection(socket: Socket): void {
  let pending: Buffer | undefined;
  let skipBytes = 0;
  let answer: (() => void) | undefined;
  socket.on("error", () => socket.destroy());
  socket.on("data", (received) => {
    let bytes = pending === undefined ? received : Buffer.concat([pending, received]);
    pending = undefined;
    while (bytes.length > 0) {
      if (skipBytes === 0) {
        const head = readHead(bytes);
        if (head === undefined) {
          pending = bytes;
          return;
        }
        skipBytes = head.bodyEnd;
        answer = () => sendAnswer(socket, head);
      }
      const taken = Math.min(skipBytes, bytes.length);
      skipBytes -= taken;
      bytes = bytes.subarray(taken);
      if (skipBytes === 0) answer?.();
    }
  });
}

interface RequestHead {
  readonly wire: Wire;
  readonly stream: boolean;
  /** Offset of the first byte after the body, from the start of the head. */
  readonly bodyEnd: number;
}

/** Returns undefined if more bytes are needed. */
function readHead(bytes: Buffer): RequestHead | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  // A gateway may list the provider's models before it serves; this GET has no content-length.
  if (length === undefined && !head.startsWith("GET ")) {
    throw new Error(`the mock needs a content-length, got: ${head}`);
  }
  const bodyStart = headEnd + HEAD_END.length;
  const bodyEnd = bodyStart + Number(length ?? 0);
  const searched = bodyEnd - bodyStart <= SEARCHED_BYTES_MAX;
  if (searched && bytes.length < bodyEnd) return undefined;
  const body = bytes.subarray(bodyStart, bodyEnd);
  const stream = searched && STREAM_WISHES.some((wish) => body.includes(wish));
  const path = head.slice(0, head.indexOf("\r\n"));
  return { wire: path.includes("/messages") ? "wire_b" : "wire_a", stream, bodyEnd };
}

function sendAnswer(socket: Socket, head: RequestHead): void {
  const answers = CANNED_ANSWERS[head.wire];
  if (!head.stream) {
    socket.write(answers.json);
    return;
  }
  socket.write(answers.streamOpening);
  const slot = slots[slotOfNextStream % SLOTS];
  slotOfNextStream += 1;
  slot?.add({ socket, answers, eventsLeft: eventsMax });
}

/**
 * Sends the events that are due. The open streams are spread over 25 groups (`slots`), so that the
 * events of an interval do not leave in one burst.
 */
function emitDueSlots(): void {
  const nowMs = systemClock.monotonicMs();
  // Sends at most one second of overdue events at once.
  nextDueMs = Math.max(nextDueMs, nowMs - 1_000);
  while (nextDueMs <= nowMs) {
    const slot = slots[nextSlot];
    if (slot !== undefined) for (const stream of slot) emitEvent(stream, slot);
    nextSlot = (nextSlot + 1) % SLOTS;
    nextDueMs += intervalMs / SLOTS;
  }
}

function emitEvent(stream: OpenStream, slot: Set<OpenStream>): void {
  stream.eventsLeft -= 1;
  if (stream.socket.destroyed) slot.delete(stream);
  else if (stream.eventsLeft === 0) finishStream(stream, slot);
  else stream.socket.write(stream.answers.streamEvent);
}

function finishStream(stream: OpenStream, slot: Set<OpenStream>): void {
  slot.delete(stream);
  if (!stream.socket.destroyed) stream.socket.write(stream.answers.streamClosing);
}
