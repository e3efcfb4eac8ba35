import { asText } from "../../../kernel/index.ts";
import { deliverJson, failEarly } from "../deliver.ts";
import type { Faults, JobFault } from "../faults.ts";
import { isObject } from "../json.ts";
import { invalidValue } from "../media-requests.ts";
import type { ReceivedCall } from "../received-call.ts";
import type { SimError } from "../sim-error.ts";
import { isRefused, findKeyProblem, orderedTrouble, findRequestProblem } from "../trouble.ts";
import { priceVideo, type ShownJob, type VideoHost } from "./video-host.ts";
import type { JobCounts, VideoJob } from "./video-jobs.ts";
import { readVideoOrder, type VideoOrder } from "./video-order.ts";

/* Maximum length, in seconds, of a film that the cheat `acceptsLong` makes a provider accept. */
const SECONDS_ACCEPTED_MAX = 120;

/** Creates a job, or refuses the request. The job exists even if a fault then loses the answer. */
export async function answerVideoCreate(host: VideoHost, call: ReceivedCall): Promise<void> {
  const { delivery } = call;
  const problem = findProblem(host, call) ?? orderedTrouble(host.troubles, delivery.faults);
  if (problem !== undefined || delivery.faults.error_in_200 === true) {
    await failEarly(delivery);
    return void (await isRefused(host, delivery, problem, host.createStatus));
  }
  const job = createJob(host, call);
  await failEarly(delivery);
  await deliverJson(delivery, host.createStatus, host.created(presentJob(call, job)));
}

export async function answerVideoPoll(host: VideoHost, call: ReceivedCall): Promise<void> {
  const job = await findJob(host, call, "polls");
  if (job === undefined) return;
  await deliverJson(call.delivery, 200, host.record(presentJob(call, job)));
}

/** Answers a DELETE, which cancels a running job or, if the host `forgets`, deletes any job. */
export async function answerVideoDelete(host: VideoHost, call: ReceivedCall): Promise<void> {
  const job = await findJob(host, call, "cancels");
  if (job === undefined) return;
  const isOver = call.jobs.view(job).isFinal;
  if (isOver && !host.forgets) {
    const error = { status: 409, message: "the job has ended and cannot be cancelled" };
    return await deliverJson(call.delivery, error.status, host.error(error));
  }
  job.ending = host.forgets ? "deleted" : "cancelled";
  await deliverJson(call.delivery, 200, host.ended(presentJob(call, job)));
}

/** Finds the call's job and counts the call. Returns undefined if it has sent an error. */
export async function findJob(
  host: VideoHost,
  { delivery, headers, jobs, path }: ReceivedCall,
  counted: keyof JobCounts,
): Promise<VideoJob | undefined> {
  const job = jobs.at(path);
  if (job !== undefined) job.counts[counted] += 1;
  await failEarly(delivery);
  const missing = { status: 404, code: "not_found", message: "No such video." };
  const { faults } = delivery;
  const problem = findKeyProblem(headers, faults) ?? orderedTrouble(host.troubles, faults);
  const error = problem ?? (job === undefined ? missing : undefined);
  if (error === undefined) return job;
  await deliverJson(delivery, error.status, host.error(error));
  return undefined;
}

export function presentJob({ jobs, headers, delivery }: ReceivedCall, job: VideoJob): ShownJob {
  const origin = `http://${String(headers["host"] ?? "127.0.0.1")}`;
  const fileUrl = `${origin}${job.root}/files/${job.id}.mp4`;
  const { billed, model = job.order.model } = delivery.faults.cheat?.video ?? {};
  const order = { ...job.order, ...billed?.(job.order), model };
  return { job: { ...job, order }, view: jobs.view(job), fileUrl };
}

function findProblem(host: VideoHost, call: ReceivedCall): SimError | undefined {
  const isUnbounded = call.delivery.faults.cheat?.video?.acceptsLong === true;
  const rule = host.accepts(isUnbounded ? SECONDS_ACCEPTED_MAX : host.secondsMax);
  return findRequestProblem(call, (body) => invalidValue(rule(body, "")));
}

function createJob(host: VideoHost, call: ReceivedCall): VideoJob {
  const { body, headers, path, createdS, delivery, jobs } = call;
  const key = headers["idempotency-key"];
  const order = readVideoOrder(isObject(body) ? body : {});
  const made = {
    idPrefix: host.idPrefix,
    root: path.replace(/\/videos$/, ""),
    order,
    plan: planJob(order, delivery.faults),
    createdS,
  };
  return jobs.create(made, asText(key));
}

function planJob(order: VideoOrder, faults: Faults): JobFault {
  const { job = {} } = faults;
  return faults.cheat?.video?.billsFailed === true
    ? { cost: priceVideo(order), ...job, final: "failed" }
    : job;
}
