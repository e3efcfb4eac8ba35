import { createServer, type Socket } from "node:net";

import type { Random } from "../simulation/random.ts";
import { CHAT_ANSWER } from "./closing-provider.ts";
import { listenLocally, type LocalServer } from "./local-server.ts";

export interface ArrivedRequest {
  readonly declaredBytes: number;
  readonly chunks: Buffer[];
  readonly manner: Manner;
}

const MANNERS = ["answers", "answers early", "fails early", "resets"] as const;
/** Early: before it has read the body, which it still reads afterwards. */
export type Manner = (typeof MANNERS)[number];

const READS_ON_AFTER_MS = 10;

export class RecordingProvider {
  readonly arrived: ArrivedRequest[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  listen(): Promise<LocalServer> {
    return listenLocally(createServer((socket) => this.#serve(socket)));
  }

  #serve(socket: Socket): void {
    let unread = Buffer.alloc(0);
    let current: ArrivedRequest | undefined;
    let missing = 0;
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      while (unread.length > 0) {
        if (current === undefined) {
          const end = unread.indexOf("\r\n\r\n");
          if (end === -1) return;
          current = this.#begin(socket, unread.toString("latin1", 0, end));
          missing = current.declaredBytes;
          unread = unread.subarray(end + 4);
        }
        const part = unread.subarray(0, missing);
        unread = unread.subarray(part.length);
        missing -= part.length;
        current.chunks.push(part);
        if (current.manner === "resets" && missing < current.declaredBytes / 2) {
          socket.resetAndDestroy();
          return;
        }
        if (missing > 0) return;
        if (current.manner === "answers") socket.write(answer(200));
        current = undefined;
      }
    });
  }

  #begin(socket: Socket, head: string): ArrivedRequest {
    const declaredBytes = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    const manner = MANNERS[this.#random.between(0, MANNERS.length - 1)] ?? "answers";
    const request: ArrivedRequest = { declaredBytes, chunks: [], manner };
    this.arrived.push(request);
    if (manner === "answers early" || manner === "fails early") {
      socket.write(answer(manner === "answers early" ? 200 : 500));
      // Stops reading for a moment, so that unread bytes stay in the sender's memory.
      socket.pause();
      setTimeout(() => socket.resume(), READS_ON_AFTER_MS);
    }
    return request;
  }
}

function answer(status: number): string {
  const body = status === 200 ? CHAT_ANSWER : '{"error":{"message":"not now"}}';
  return (
    `HTTP/1.1 ${status} Answer\r\ncontent-type: application/json\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`
  );
}
