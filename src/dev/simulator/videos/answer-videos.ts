import { isCheating } from "../cheats.ts";
import { deliverJson, deliverPieces, type Delivery, failEarly } from "../deliver.ts";
import type { Faults, JobFault } from "../faults.ts";
import type { SimError } from "../host-errors.ts";
import { isObject } from "../json.ts";
import { invalidValue } from "../media-requests.ts";
import type { ReceivedCall } from "../received-call.ts";
import { isRefused, keyProblemOf, orderedTrouble, requestProblemOf } from "../trouble.ts";
import { costOf, hasFile, type ShownJob, type VideoHost } from "./video-host.ts";
import { readVideoOrder, type VideoJob, type VideoOrder } from "./video-jobs.ts";

/* Of a host that accepts more than it makes. */
const SECONDS_ACCEPTED_MAX = 120;

/**
 * Accepts a job, or refuses it. A job whose answer is lost on the way was made all the same: that
 * is what a caller has to reckon with.
 */
export async function answerVideoCreate(host: VideoHost, call: ReceivedCall): Promise<void> {
  const { delivery } = call;
  const problem = problemOf(host, call) ?? orderedTrouble(host.troubles, delivery.faults);
  if (problem !== undefined || delivery.faults.error_in_200 === true) {
    await failEarly(delivery);
    return void (await isRefused(host, delivery, problem, host.createStatus));
  }
  const job = createJob(host, call);
  await failEarly(delivery);
  await deliverJson(delivery, host.createStatus, host.created(shownJob(call, job)));
}

/** Shows a job; each poll moves it on. */
export async function answerVideoPoll(host: VideoHost, call: ReceivedCall): Promise<void> {
  const job = await findJob(host, call, (found) => (found.counts.polls += 1));
  if (job === undefined) return;
  await deliverJson(call.delivery, 200, host.record(shownJob(call, job)));
}

/** Cancels a job that runs, or deletes one for good: each host has one of the two. */
export async function answerVideoDelete(host: VideoHost, call: ReceivedCall): Promise<void> {
  const job = await findJob(host, call, (found) => (found.counts.cancels += 1));
  if (job === undefined) return;
  const isOver = call.jobs.view(job).isFinal;
  if (isOver && !host.forgets) {
    const error = { status: 409, message: "the job has ended and cannot be cancelled" };
    return await deliverJson(call.delivery, error.status, host.error(error));
  }
  job.ending = host.forgets ? "deleted" : "cancelled";
  await deliverJson(call.delivery, 200, host.ended(shownJob(call, job)));
}

/** The job that the path names, counted; undefined when the answer is an error and was sent. */
async function findJob(
  host: VideoHost,
  { delivery, headers, jobs, path }: ReceivedCall,
  count: (job: VideoJob) => void,
): Promise<VideoJob | undefined> {
  const job = jobs.at(path);
  if (job !== undefined) count(job);
  await failEarly(delivery);
  const missing = { status: 404, code: "not_found", message: "No such video." };
  const { faults } = delivery;
  const problem = keyProblemOf(headers, faults) ?? orderedTrouble(host.troubles, faults);
  const error = problem ?? (job === undefined ? missing : undefined);
  if (error === undefined) return job;
  await deliverJson(delivery, error.status, host.error(error));
  return undefined;
}

/** A job with its place and the address of its file. */
function shownJob({ jobs, headers }: ReceivedCall, job: VideoJob): ShownJob {
  const origin = `http://${String(headers["host"] ?? "127.0.0.1")}`;
  return { job, view: jobs.view(job), fileUrl: `${origin}${job.root}/files/${job.id}.mp4` };
}

function problemOf(host: VideoHost, call: ReceivedCall): SimError | undefined {
  const isUnbounded = isCheating(call.delivery.faults, "video-seconds-over-max-accepted");
  const rule = host.accepts(isUnbounded ? SECONDS_ACCEPTED_MAX : host.secondsMax);
  return requestProblemOf(call, (body) => invalidValue(rule(body, "")));
}

function createJob(host: VideoHost, call: ReceivedCall): VideoJob {
  const { body, headers, path, createdS, delivery, jobs } = call;
  const key = headers["idempotency-key"];
  const order = readVideoOrder(isObject(body) ? body : {});
  const made = {
    idPrefix: host.idPrefix,
    root: path.replace(/\/videos$/, ""),
    order,
    plan: planOf(order, delivery.faults),
    createdS,
  };
  return jobs.create(made, typeof key === "string" ? key : undefined);
}

function planOf(order: VideoOrder, faults: Faults): JobFault {
  const { job = {} } = faults;
  return isCheating(faults, "video-failed-but-billed")
    ? { cost: costOf(order), ...job, final: "failed" }
    : job;
}

const FILE_BYTES = 64 * 1024;
const PERIOD = 251;
const STEP_BYTES = 64 * 1024;
const PATTERN = Buffer.from(
  Array.from({ length: STEP_BYTES + PERIOD }, (_byte, at) => at % PERIOD),
);
/* An MP4 file's type box, and the head of a data box that continues to the end of the file. */
const HEAD = Buffer.from("00000018667479706d703432000000006d70343269736f6d000000006d646174", "hex");

/** The file of a finished job, or part of it. */
export async function answerVideoContent(host: VideoHost, call: ReceivedCall): Promise<void> {
  const job = await findJob(host, call, (found) => (found.counts.contents += 1));
  if (job !== undefined) await deliverFile(host, call, job);
}

/** The same file at its own address, for a client that was redirected there. */
export async function answerVideoFile(host: VideoHost, call: ReceivedCall): Promise<void> {
  const job = await findJob(host, call, (found) => (found.counts.files += 1));
  if (job !== undefined) await deliverFile(host, call, job);
}

async function deliverFile(host: VideoHost, call: ReceivedCall, job: VideoJob): Promise<void> {
  const { delivery, jobs } = call;
  const { redirect, body } = delivery.faults;
  const redirected = redirect === undefined ? undefined : locationOf(redirect, call, job);
  if (redirected !== undefined) return await deliverRedirect(delivery, redirected);
  if (!hasFile({ job, view: jobs.view(job) })) {
    const error = { status: 404, code: "not_ready", message: "The video has no file (yet)." };
    return await deliverJson(delivery, error.status, host.error(error));
  }
  if (body === "html") return await deliverJson(delivery, 200, {});
  await deliverRange(call, job);
}

function locationOf(redirect: "self" | "other", call: ReceivedCall, job: VideoJob): string {
  const { fileUrl } = shownJob(call, job);
  if (redirect === "self") return call.path;
  return fileUrl.includes("//localhost")
    ? fileUrl.replace("//localhost", "//127.0.0.1")
    : fileUrl.replace(/\/\/[^/:]+/, "//localhost");
}

async function deliverRedirect(delivery: Delivery, location: string): Promise<void> {
  const moved = { ...delivery, headers: { ...delivery.headers, location } };
  await deliverJson(moved, 302, {});
}

interface Range {
  readonly from: number;
  /** The byte behind the last one. */
  readonly to: number;
}

async function deliverRange(call: ReceivedCall, job: VideoJob): Promise<void> {
  const { delivery, headers } = call;
  const length = job.plan.bytes ?? FILE_BYTES;
  const etag = `"${job.id}"`;
  const ifRange = headers["if-range"];
  const isSame = ifRange === undefined || ifRange === etag;
  const range = isSame ? rangeOf(String(headers["range"] ?? ""), length) : undefined;
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
  const answer = {
    ...delivery,
    headers: { ...delivery.headers, ...about, ...part.more },
  };
  await deliverPieces(answer, {
    status: part.status,
    type: "video/mp4",
    lengthBytes: part.to - part.from,
    pieces: fileBytes(part.from, part.to),
  });
}

/* Several ranges, and anything that is none, are answered with the whole file. */
function rangeOf(header: string, length: number): Range | "beyond" | undefined {
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

function* fileBytes(from: number, to: number): Generator<Buffer> {
  for (let at = from; at < to;) {
    const end = at < HEAD.length ? Math.min(to, HEAD.length) : Math.min(to, at + STEP_BYTES);
    const start = at % PERIOD;
    yield at < HEAD.length ? HEAD.subarray(at, end) : PATTERN.subarray(start, start + end - at);
    at = end;
  }
}
