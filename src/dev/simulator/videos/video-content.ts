import { createHash } from "node:crypto";
import { deliverJson, deliverPieces } from "../deliver.ts";
import type { ReceivedCall } from "../received-call.ts";
import { findJob, presentJob } from "./answer-videos.ts";
import { hasFile, type VideoHost } from "./video-host.ts";
import type { VideoJob } from "./video-jobs.ts";

const FILE_BYTES = 64 * 1024;
const PERIOD = 65_521;
const STEP_BYTES = 64 * 1024;
/* Mixed bytes, so that films with different shifts differ. */
const PATTERN = Buffer.from(
  Array.from(
    { length: STEP_BYTES + 2 * PERIOD },
    (_byte, at) => Math.imul(at % PERIOD, 0x9e3779b1) >>> 24,
  ),
);
/* Bytes of an MP4 file: its `ftyp` box, and the head of its `mdat` box. */
const TYPE = Buffer.from("00000018667479706d703432000000006d70343269736f6d", "hex");
const DATA = Buffer.from("000000006d646174", "hex");
const MOVIE_BYTES = 116;
const HEAD_BYTES = TYPE.length + MOVIE_BYTES + DATA.length;

function buildHead(seconds: number, lengthBytes: number): Buffer {
  const movie = Buffer.alloc(MOVIE_BYTES);
  movie.writeUInt32BE(MOVIE_BYTES, 0);
  movie.write("moov", 4, "latin1");
  movie.writeUInt32BE(MOVIE_BYTES - 8, 8);
  movie.write("mvhd", 12, "latin1");
  movie.writeUInt32BE(1_000, 28);
  movie.writeUInt32BE(1_000 * seconds, 32);
  const data = Buffer.from(DATA);
  data.writeUInt32BE(lengthBytes - TYPE.length - MOVIE_BYTES, 0);
  return Buffer.concat([TYPE, movie, data]);
}

/** Sends a job's file, at its content path (`contents`) or at the URL in its JSON (`files`). */
export async function answerVideoFile(
  host: VideoHost,
  call: ReceivedCall,
  counted: "contents" | "files",
): Promise<void> {
  const job = await findJob(host, call, counted);
  if (job === undefined) return;
  const { delivery, jobs } = call;
  const { redirect, body } = delivery.faults;
  if (redirect !== undefined) {
    const headers = { ...delivery.headers, location: chooseLocation(redirect, call, job) };
    return await deliverJson({ ...delivery, headers }, 302, {});
  }
  if (!hasFile({ job, view: jobs.view(job) })) {
    const error = { status: 404, code: "not_ready", message: "The video has no file (yet)." };
    return await deliverJson(delivery, error.status, host.error(error));
  }
  if (body === "html") return await deliverJson(delivery, 200, {});
  await deliverRange(call, job);
}

function chooseLocation(redirect: "self" | "other", call: ReceivedCall, job: VideoJob): string {
  const { fileUrl } = presentJob(call, job);
  if (redirect === "self") return call.path;
  return fileUrl.includes("//localhost")
    ? fileUrl.replace("//localhost", "//127.0.0.1")
    : fileUrl.replace(/\/\/[^/:]+/, "//localhost");
}

interface Range {
  readonly from: number;
  /** The offset after the last byte. */
  readonly to: number;
}

async function deliverRange(call: ReceivedCall, job: VideoJob): Promise<void> {
  const { delivery, headers } = call;
  const { length, bytes } = findFilm(call, job);
  const etag = `"${job.id}"`;
  const ifRange = headers["if-range"];
  const isSame = ifRange === undefined || ifRange === etag;
  const range = isSame ? parseRange(String(headers["range"] ?? ""), length) : undefined;
  const about = {
    "accept-ranges": "bytes",
    etag,
    "last-modified": new Date(job.createdS * 1000).toUTCString(),
    "set-cookie": "session=secret-provider-cookie",
  };
  const part =
    range === undefined
      ? { status: 200, from: 0, to: length, more: {} }
      : range === "beyond"
        ? { status: 416, from: 0, to: 0, more: { "content-range": `bytes */${length}` } }
        : { status: 206, ...range, more: { "content-range": contentRange(range, length) } };
  const { status, from, to, more } = part;
  const sent = { ...delivery, headers: { ...delivery.headers, ...about, ...more } };
  const pieces = bytes(from, to);
  await deliverPieces(sent, { status, type: "video/mp4", lengthBytes: to - from, pieces });
}

interface Film {
  readonly length: number;
  readonly bytes: (from: number, to: number) => Iterable<Buffer>;
}

function findFilm({ delivery, kept }: ReceivedCall, own: VideoJob): Film {
  const cheat = delivery.faults.cheat?.video ?? {};
  if (!kept.has("film")) kept.set("film", own);
  const job = cheat.isFirst === true ? (kept.get("film") as VideoJob) : own;
  if (cheat.page !== undefined) {
    const file = Buffer.from(cheat.page);
    return { length: file.length, bytes: (from, to) => [file.subarray(from, to)] };
  }
  const whole = job.plan.bytes ?? FILE_BYTES;
  const seconds = cheat.seconds?.(job.order.seconds) ?? job.order.seconds;
  const { share = 1, seed = job.order.prompt } = cheat;
  const head = buildHead(seconds, share === 0 ? HEAD_BYTES : whole);
  const shift = createHash("sha256").update(seed).digest().readUInt32BE(0) % PERIOD;
  return {
    length: Math.min(whole, HEAD_BYTES + Math.floor((whole - HEAD_BYTES) * share)),
    bytes: (from, to) => fileBytes(head, { from, to }, shift),
  };
}

/* Returns undefined (the whole file) if the header is absent, invalid or has several ranges. */
function parseRange(header: string, length: number): Range | "beyond" | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header);
  const [, first = "", last = ""] = match ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const from = Math.max(0, length - Number(last));
    return from < length ? { from, to: length } : "beyond";
  }
  const from = Number(first);
  if (from >= length) return "beyond";
  if (last !== "" && Number(last) < from) return undefined;
  return { from, to: last === "" ? length : Math.min(length, Number(last) + 1) };
}

function contentRange({ from, to }: Range, length: number): string {
  return `bytes ${from}-${to - 1}/${length}`;
}

function* fileBytes(head: Buffer, { from, to }: Range, shift: number): Generator<Buffer> {
  for (let at = from; at < to;) {
    const end = at < head.length ? Math.min(to, head.length) : Math.min(to, at + STEP_BYTES);
    const start = (at + shift) % PERIOD;
    yield at < head.length ? head.subarray(at, end) : PATTERN.subarray(start, start + end - at);
    at = end;
  }
}
