import { once } from "node:events";
import { connect, type Socket } from "node:net";

import { systemClock } from "../src/kernel/core/time.ts";

const HEAD_END = Buffer.from("\r\n\r\n");
const CHUNKS_END = Buffer.from("\r\n0\r\n\r\n");
const EVENT_END = Buffer.from("\n\n");
const EXCERPT_BYTES = 1_200;
const TAIL_BYTES = 1_200;

/** Connects to a port of this machine. A later error only destroys the socket. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket.on("error", () => socket.destroy());
}

/** Calls `send` at a steady rate until the returned function is called. A late timer catches up. */
export function startPace(perSecond: number, send: () => void): () => void {
  const startMs = systemClock.monotonicMs();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((systemClock.monotonicMs() - startMs) / 1_000) * perSecond;
    for (; sent < due; sent += 1) send();
  }, 1);
  return () => clearInterval(timer);
}

/** Returns a text that is in the last event of every complete stream from this path. */
export function lastEventOf(path: string): string {
  return path.endsWith("/messages") ? '"message_stop"' : "data: [DONE]";
}

/**
 * Reads the status, the end and the number of events of each answer on one connection cheaply. It
 * does not validate HTTP; a probe with a real client does that before anything is measured.
 */
export class AnswerReader {
  status = 0;
  events = 0;
  done = false;
  /** Up to 1,200 bytes from the start of the answer if its status is not 200; otherwise empty. */
  excerpt = "";
  private head: Buffer | undefined;
  private leftBytes = 0;
  private chunked = false;
  private tail: Buffer = Buffer.alloc(0);

  reset(): void {
    this.status = 0;
    this.events = 0;
    this.done = false;
    this.excerpt = "";
    this.head = undefined;
    this.leftBytes = 0;
    this.chunked = false;
    this.tail = Buffer.alloc(0);
  }

  feed(received: Buffer): void {
    if (this.status !== 0) {
      this.feedBody(received);
      return;
    }
    const bytes = this.head === undefined ? received : Buffer.concat([this.head, received]);
    const headEnd = bytes.indexOf(HEAD_END);
    if (headEnd === -1) {
      this.head = bytes;
      return;
    }
    const status = this.readHead(bytes.toString("latin1", 0, headEnd));
    if (status !== 200) this.excerpt = bytes.toString("utf8", 0, EXCERPT_BYTES);
    // The line break that ends the head stays: `CHUNKS_END` of an empty body begins with it.
    this.feedBody(bytes.subarray(headEnd + (this.chunked ? 2 : HEAD_END.length)));
  }

  /** The last bytes of a streamed answer, which tell if the stream is complete. */
  tailText(): string {
    return this.tail.toString("utf8");
  }

  private readHead(head: string): number {
    this.status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) this.chunked = true;
    else this.leftBytes = Number(length);
    return this.status;
  }

  private feedBody(bytes: Buffer): void {
    if (!this.chunked) {
      this.leftBytes -= bytes.length;
      this.done = this.leftBytes <= 0;
      return;
    }
    for (let at = bytes.indexOf(EVENT_END); at !== -1; at = bytes.indexOf(EVENT_END, at + 2)) {
      this.events += 1;
    }
    this.tail =
      bytes.length >= TAIL_BYTES
        ? bytes.subarray(bytes.length - TAIL_BYTES)
        : Buffer.concat([this.tail, bytes]).subarray(-TAIL_BYTES);
    this.done = this.tail.subarray(-CHUNKS_END.length).equals(CHUNKS_END);
  }
}
