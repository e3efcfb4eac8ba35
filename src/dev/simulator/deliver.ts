import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Frame } from "./dialect.ts";
import type { FaultPoint, Faults } from "./faults.ts";
import { jsonText, type JsonObject } from "./json.ts";

export interface Delivery {
  readonly response: ServerResponse;
  readonly faults: Faults;
  /** Aborted when the client disconnects or the simulator closes. */
  readonly gone: AbortSignal;
  readonly held: HeldAnswers;
  readonly headers: Readonly<Record<string, string>>;
}

/** Thrown after a fault has cut an answer off on purpose, so that nothing more is sent. */
export class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

const HTML = "<html><head><title>Bad gateway</title></head><body>Bad gateway</body></html>";
const FILLER = Buffer.alloc(64 * 1024, "x");
const BOMB_MEMBER_BYTES = 10 * 1024 * 1024;
const BOMB_MEMBERS = 1_000;
const DRIPS_PER_SECOND = 10;
/* A reset discards unread bytes, so the client first gets this time to read them. */
const BEFORE_RESET_MS = 20;

export async function failEarly(delivery: Delivery): Promise<void> {
  const { faults, response } = delivery;
  if (faults.hang?.at === "accept" || faults.hang?.at === "headers") await hang(delivery);
  if (faults.reset?.at === "headers") {
    response.socket?.write("HTTP/1.1 200 OK\r\ncontent-ty");
    await sleep(BEFORE_RESET_MS);
    breakOff(response);
  }
}

export async function deliverJson(
  delivery: Delivery,
  status: number,
  json: JsonObject,
): Promise<void> {
  const { faults } = delivery;
  const refusal = status >= 400 ? faults.cheat?.refuse?.(status) : undefined;
  const isHtml = refusal?.isPage === true || faults.body === "html";
  const clean = Buffer.from(isHtml ? HTML : jsonText(json));
  const bytes = faults.bad_utf8 === true ? withBadUtf8(clean) : clean;
  const body = {
    status: refusal?.status ?? status,
    type: isHtml ? "text/html" : "application/json",
    lengthBytes: bytes.length,
    pieces: [bytes],
  };
  await deliverPieces(delivery, body);
}

/** A body that is generated in chunks while it is sent, so that it is never whole in memory. */
export interface PiecedBody {
  readonly status: number;
  readonly type: string;
  readonly lengthBytes: number;
  readonly pieces: Iterable<Buffer>;
}

/** Sends a body in chunks, and applies only those faults that act on whole documents. */
export async function deliverPieces(delivery: Delivery, body: PiecedBody): Promise<void> {
  const { faults, response } = delivery;
  await pause(delivery);
  if (faults.gzip_bomb === true) return await deliverBomb(delivery, body.status);
  const isCut = faults.bad_json === true || faults.bad_json_at_event !== undefined;
  const length = isCut ? Math.floor(body.lengthBytes / 2) : body.lengthBytes;
  writeHead(delivery, body.status, { type: body.type, length });
  const sink = new Sink(delivery);
  if (faults.long_line !== undefined) await sink.fill(faults.long_line);
  let left = length;
  for (const piece of body.pieces) {
    if (left <= 0) break;
    await sink.write(piece.length > left ? piece.subarray(0, left) : piece);
    left -= piece.length;
  }
  if (faults.endless === true) await sink.fill(Number.POSITIVE_INFINITY);
  response.end();
}

export async function deliverStream(
  delivery: Delivery,
  frames: readonly Frame[],
  errorFrame: Frame,
): Promise<void> {
  const { faults, response } = delivery;
  if (faults.gzip_bomb === true) return await deliverBomb(delivery, 200);
  const planned = plannedFrames(frames, errorFrame, faults);
  const single = planned.map((frame, index) => eventBytes(frame, index, faults));
  const events = faults.one_piece === true ? [Buffer.concat(single)] : single;
  const length =
    faults.wrong_length === undefined && faults.one_piece === undefined
      ? undefined
      : events.reduce((sum, one) => sum + one.length, 0);
  writeHead(delivery, 200, { type: "text/event-stream; charset=utf-8", length });
  const sink = new Sink(delivery);
  if (faults.long_line !== undefined) {
    await sink.write(Buffer.from("data: "));
    await sink.fill(faults.long_line);
    await sink.write(Buffer.from("\n\n"));
  }
  const repeated = faults.endless === true ? repeatableIndex(planned) : -1;
  for (const [index, event] of events.entries()) {
    await sink.reach(index);
    await pause(delivery);
    if (index === repeated) await sink.repeat(event);
    await sink.write(event);
  }
  await sink.reach(events.length);
  response.end();
}

function plannedFrames(
  frames: readonly Frame[],
  errorFrame: Frame,
  faults: Faults,
): readonly Frame[] {
  if (faults.error_event_first === true) return [errorFrame];
  if (faults.error_at_event !== undefined) {
    return [...frames.slice(0, faults.error_at_event), errorFrame];
  }
  return faults.no_terminal === true
    ? frames.filter(({ kind }) => kind === "start" || kind === "content" || kind === "ping")
    : frames;
}

function eventBytes(frame: Frame, index: number, faults: Faults): Buffer {
  const { event, data } = frame;
  const text = faults.bad_json_at_event === index ? data.slice(0, data.length / 2) : data;
  const bytes = Buffer.from(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
  const isBroken = faults.bad_utf8 === true && frame.kind === "content";
  return isBroken ? withBadUtf8(bytes) : bytes;
}

/* Index of the last event with text. The fault `endless` repeats this event. */
function repeatableIndex(frames: readonly Frame[]): number {
  return frames.findLastIndex(({ kind, data }) => kind === "content" && data.includes("delta"));
}

/* Spoils a text of the answer with two bytes that are never valid in UTF-8. */
function withBadUtf8(bytes: Buffer): Buffer {
  const places = ['"content":"', '"text":"', '"thinking":"', '":"'];
  const found = places.map((place) => [bytes.indexOf(place), place.length] as const);
  const [at, length] = found.find(([index]) => index >= 0) ?? [0, 0];
  const cut = at + length;
  return Buffer.concat([bytes.subarray(0, cut), Buffer.of(0xff, 0xfe), bytes.subarray(cut)]);
}

function writeHead(
  { response, faults, headers }: Delivery,
  status: number,
  body: { readonly type: string; readonly length: number | undefined },
): void {
  const { wrong_length: wrong, retry_after: retryAfter } = faults;
  const isEndless = faults.endless === true || faults.chunked === true;
  const isCounted = body.length !== undefined && !isEndless;
  const filled = faults.long_line ?? 0;
  response.writeHead(status, {
    ...headers,
    "content-type": faults.content_type ?? body.type,
    ...(isCounted ? { "content-length": body.length + filled + (wrong ?? 0) } : {}),
    ...(wrong === undefined ? {} : { connection: "close" }),
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
  });
  response.flushHeaders();
}

/* Sends a thousand gzip members. Each is about 10 KB long, and expands to 10 MiB of spaces. */
async function deliverBomb(delivery: Delivery, status: number): Promise<void> {
  const { response, headers } = delivery;
  const member = gzipSync(Buffer.alloc(BOMB_MEMBER_BYTES, " "));
  const type = delivery.faults.content_type ?? "application/json";
  response.writeHead(status, { ...headers, "content-type": type, "content-encoding": "gzip" });
  const sink = new Sink(delivery);
  for (let sent = 0; sent < BOMB_MEMBERS; sent += 1) await sink.write(member);
  response.end();
}

/** Writes an answer's bytes at the pace, and up to the point, that the faults allow. */
class Sink {
  readonly #delivery: Delivery;
  #sentBytes = 0;

  constructor(delivery: Delivery) {
    this.#delivery = delivery;
  }

  /** Applies the faults before event `index`: holds the answer, resets the connection, or hangs. */
  async reach(index: number): Promise<void> {
    const { hold, reset, hang: hanging } = this.#delivery.faults;
    if (isEvent(hold, index)) await this.#delivery.held.wait(this.#delivery.gone);
    if (isEvent(reset, index)) await this.#reset();
    if (isEvent(hanging, index)) await hang(this.#delivery);
  }

  async write(bytes: Buffer): Promise<void> {
    const { reset, drip } = this.#delivery.faults;
    const left = reset?.at === "body" ? reset.count - this.#sentBytes : bytes.length;
    const allowed = left < bytes.length ? bytes.subarray(0, Math.max(0, left)) : bytes;
    if (drip === undefined) await this.#put(allowed);
    else await this.#putSlowly(allowed, drip);
    if (allowed.length < bytes.length) await this.#reset();
  }

  async repeat(bytes: Buffer): Promise<void> {
    while (!this.#delivery.gone.aborted) await this.write(bytes);
  }

  async fill(count: number): Promise<void> {
    for (let left = count; left > 0; left -= FILLER.length) {
      await this.write(left < FILLER.length ? FILLER.subarray(0, left) : FILLER);
    }
  }

  async #put(bytes: Buffer): Promise<void> {
    const { response, gone } = this.#delivery;
    gone.throwIfAborted();
    this.#sentBytes += bytes.length;
    if (!response.write(bytes)) await once(response, "drain", { signal: gone });
  }

  async #putSlowly(bytes: Buffer, bytesPerSecond: number): Promise<void> {
    const step = Math.max(1, Math.ceil(bytesPerSecond / DRIPS_PER_SECOND));
    const waitMs = (step / bytesPerSecond) * 1000;
    for (let at = 0; at < bytes.length; at += step) {
      await this.#put(bytes.subarray(at, at + step));
      await sleep(waitMs, undefined, { signal: this.#delivery.gone });
    }
  }

  async #reset(): Promise<never> {
    await sleep(BEFORE_RESET_MS);
    return breakOff(this.#delivery.response);
  }
}

function isEvent(point: FaultPoint | undefined, index: number): boolean {
  return point?.at === "event" && point.count === index;
}

async function pause({ faults, gone }: Delivery): Promise<void> {
  if (faults.slow !== undefined) await sleep(faults.slow, undefined, { signal: gone });
}

async function hang({ gone }: Delivery): Promise<never> {
  if (!gone.aborted) await once(gone, "abort");
  throw new BrokenOff();
}

function breakOff(response: ServerResponse): never {
  response.socket?.resetAndDestroy();
  throw new BrokenOff();
}

/** The answers that the fault `hold` has stopped. `release` lets all of them continue. */
export class HeldAnswers {
  readonly #waiting = new Set<() => void>();

  /** Resolves when `release` is called. Rejects if the client disconnects first. */
  async wait(gone: AbortSignal): Promise<void> {
    gone.throwIfAborted();
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      gone.addEventListener("abort", () => resolve(), { once: true });
    });
    gone.throwIfAborted();
  }

  release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
