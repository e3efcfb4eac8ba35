import { type Deployment, quoteWorstCase } from "../../../catalog/index.ts";
import { floorToMicroUsd, formatExactUsd, formatUsd, type PicoUsd } from "../../../kernel/index.ts";
import { type ProviderJob, readJob } from "../../../formats/index.ts";
import { failed, type Finding, passed, skipped, warned, chooseWorst } from "../report/finding.ts";
import { type FilePart, followJob, type JobQuestions } from "../probing/job-questions.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import { guardFinding, isServed } from "../probing/observation.ts";
import { readFilm } from "./film.ts";
import { videoProbes, videoSeconds } from "./video-probes.ts";

/** C11 of videos: jobs end, files can be read in ranges, and the cost is within the ceiling. */
export async function videoSpecifics(lab: Lab): Promise<Finding> {
  const { jobs } = lab;
  if (jobs === undefined) return skipped("this run does not ask after jobs");
  const parts = [
    await guardFinding(videoProbes.tooLong(lab).name, () => tooLongFinding(lab, jobs)),
  ];
  const films = new Set<string>();
  for (const probe of [videoProbes.shortest(lab), videoProbes.usual(lab)]) {
    parts.push(await guardFinding(probe.name, () => videoFinding(lab, { jobs, films }, probe)));
  }
  const skip = parts.find(({ status }) => status === "skip");
  return chooseWorst(parts, skip ?? passed(parts.map(({ message }) => message).join("; ")));
}

/** The provider must refuse a clip that is too long, with any status. Cancels an accepted job. */
async function tooLongFinding(lab: Lab, jobs: JobQuestions): Promise<Finding> {
  const probe = videoProbes.tooLong(lab);
  const { status, body } = await lab.ask(probe);
  if (status === null || status >= 300) return passed(`${probe.name}: not accepted`);
  const id = readJob(body)?.id;
  if (id !== undefined) await jobs.cancel(id);
  return failed(`${probe.name}: accepted with ${status}`, { status });
}

interface Asking {
  readonly jobs: JobQuestions;
  readonly films: Set<string>;
}

async function videoFinding(lab: Lab, asking: Asking, probe: Probe): Promise<Finding> {
  const { jobs } = asking;
  const { name } = probe;
  const seen = await lab.ask(probe);
  const id = readJob(seen.body)?.id;
  if (!isServed(seen) || id === undefined) {
    const why = seen.failure?.refusal.message ?? "the answer has no id";
    return failed(`${name}: not accepted: ${why}`, { status: seen.status });
  }
  const end = await followJob(jobs, id);
  if (end.kind === "lost") return failed(`${name}: the job was accepted, but ${end.reason}`);
  if (end.kind === "late") {
    const seconds = Math.round(jobs.deadlineMs / 1000);
    return failed(`${name}: the job is ${end.state} after ${seconds} s`, { polls: end.polls });
  }
  lab.noteEnded(end.job);
  return await checkEnded(lab, asking, { probe, id, job: end.job });
}

async function checkEnded(
  { deployment }: Lab,
  { jobs, films }: Asking,
  { probe, id, job }: { readonly probe: Probe; readonly id: string; readonly job: ProviderJob },
): Promise<Finding> {
  const { name } = probe;
  const { state, costPicoUsd } = job;
  if (state !== "completed") {
    return costPicoUsd !== undefined && costPicoUsd > 0n
      ? failed(`${name}: a job that ended as ${state} is billed`, costEvidence(costPicoUsd))
      : failed(`${name}: the job ended as ${state}`);
  }
  const cost = costFinding(deployment, videoSeconds(probe), costPicoUsd);
  if (cost !== undefined) return { ...cost, message: `${name}: ${cost.message}` };
  const file = await fileFinding(jobs, id);
  const film = file.status === "fail" ? undefined : await filmFinding({ jobs, films }, probe, id);
  const found = film ?? file;
  return { ...found, message: `${name}: ${found.message}` };
}

function costFinding(
  { prices, maxOutputTokens }: Deployment,
  seconds: number,
  cost: PicoUsd | undefined,
): Finding | undefined {
  if (cost === undefined) return failed("the finished job reports no cost, by which it is billed");
  if (prices === null || maxOutputTokens === undefined) return undefined;
  const most = quoteWorstCase(prices, { input: 0, output: seconds * maxOutputTokens });
  if (floorToMicroUsd(cost) <= most) return undefined;
  const evidence = { ...costEvidence(cost), ceiling_usd: formatUsd(most) };
  return failed("the job costs more than the ceiling of its seconds", evidence);
}

function costEvidence(cost: PicoUsd): { readonly cost_usd: string } {
  return { cost_usd: formatExactUsd(cost) };
}

/** The second range overlaps the first. Both must have the same bytes in the overlap. */
const FIRST_PART = { first: 0, last: 63 };
const SECOND_PART = { first: 32, last: 63 };

async function fileFinding(jobs: JobQuestions, id: string): Promise<Finding> {
  const whole = await jobs.read(id, FIRST_PART);
  if (whole.status === 200 && whole.bytes.length > 0) {
    return warned("the file is read, but a range is answered with all of it");
  }
  const part = await jobs.read(id, SECOND_PART);
  const flaw = partFlaw(whole, FIRST_PART) ?? partFlaw(part, SECOND_PART);
  if (flaw !== undefined) return failed(flaw);
  if (!whole.bytes.subarray(SECOND_PART.first).equals(part.bytes)) {
    return failed("two ranges of the file differ in the bytes that they share");
  }
  return passed("completed, with a cost under the ceiling, and read by ranges");
}

/** A film ends at a frame, so its length may differ by this, or by `SHARE_TOLERANCE` if larger. */
const SECONDS_TOLERANCE = 0.5;
const SHARE_TOLERANCE = 0.1;
const WINDOW_BYTES = 16_384;

async function filmFinding(
  { jobs, films }: Asking,
  probe: Probe,
  id: string,
): Promise<Finding | undefined> {
  const { contentRange = "" } = await jobs.read(id, FIRST_PART);
  const lengthBytes = Number(/\/(\d+)$/.exec(contentRange)?.[1] ?? 0);
  // A film without a stated total length cannot be read in parts: the provider ignores ranges.
  if (lengthBytes === 0) return undefined;
  const film = await readFilm(async (from) => {
    const last = Math.min(lengthBytes, from + WINDOW_BYTES) - 1;
    return (await jobs.read(id, { first: from, last })).bytes;
  }, lengthBytes);
  if (!film.ok) return failed(film.flaw);
  const asked = videoSeconds(probe);
  const { seconds = asked } = film;
  if (Math.abs(seconds - asked) > Math.max(SECONDS_TOLERANCE, SHARE_TOLERANCE * asked)) {
    const evidence = { seconds: Number(seconds.toFixed(1)), asked };
    return failed("the film is not as long as was asked for", evidence);
  }
  if (films.has(film.shown)) return failed("two jobs for two prompts have the same film");
  films.add(film.shown);
  return undefined;
}

function partFlaw(
  { end, status, contentRange, bytes }: FilePart,
  { first, last }: typeof FIRST_PART,
): string | undefined {
  if (status === undefined) return `the file is not read: ${whyUnread(end)}`;
  if (status !== 206) return `a range of the file is answered with ${status}`;
  if (contentRange?.startsWith(`bytes ${first}-${last}/`) !== true) {
    return `bytes ${first}-${last} are answered as ${contentRange ?? "no range"}`;
  }
  const isWhole = end.kind === "complete" && bytes.length === last - first + 1;
  return isWhole ? undefined : `a range of the file has ${bytes.length} bytes: ${whyUnread(end)}`;
}

function whyUnread(end: FilePart["end"]): string {
  if (end.kind === "broken") return end.reason;
  if (end.kind === "refused") return end.unusableReason ?? `status ${end.status}`;
  return UNREAD[end.kind];
}

const UNREAD = {
  complete: "it ended",
  unreachable: "it is not reached",
  silent: "nothing comes",
} as const;
