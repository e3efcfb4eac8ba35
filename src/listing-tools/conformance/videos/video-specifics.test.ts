import { describe, expect, test } from "vitest";

import { readJob } from "../../../formats/index.ts";
import {
  type Answer,
  stubLab,
  videoListing,
} from "../../../../test/fixtures/conformance/stub-lab.ts";
import type { ByteRange, FilePart, JobQuestions } from "../probing/job-questions.ts";
import { videoSpecifics } from "./video-specifics.ts";
import type { Probe } from "../probing/lab.ts";

/** Makes an MP4 file of this length in seconds, with `shown` as its picture data. */
function filmOf(seconds: number, shown: string): Buffer {
  const box = (kind: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + data.length, 0);
    head.write(kind, 4, "latin1");
    return Buffer.concat([head, data]);
  };
  const movie = Buffer.alloc(100);
  movie.writeUInt32BE(1_000, 12);
  movie.writeUInt32BE(1_000 * seconds, 16);
  return Buffer.concat([
    box("ftyp", Buffer.from("mp42")),
    box("moov", box("mvhd", movie)),
    box("mdat", Buffer.from(shown.padEnd(80))),
  ]);
}

const FILE = filmOf(4, "one");

/** What a test changes about a provider of videos that otherwise keeps its promises. */
interface Provider {
  readonly record?: object;
  readonly read?: (range: ByteRange) => Partial<FilePart>;
  readonly accept?: (probe: Probe) => Answer | "unsent" | undefined;
  /** Length of the film for a request that states none. */
  readonly usual?: number;
  readonly film?: (seconds: number, id: string) => Buffer;
}

const isTooLong = ({ changeBody }: Probe): boolean => changeBody !== undefined;

async function seenOf(provider: Provider = {}) {
  const { record = {}, read, accept, usual = 8, film = filmOf } = provider;
  const cancelled: string[] = [];
  const asked: string[] = [];
  let nowMs = 0;
  const jobs: JobQuestions = {
    deadlineMs: 3,
    nowMs: () => (nowMs += 1),
    ask: async (id) => {
      const finished = { id, status: "completed", model: "m", usage: { cost: 0.4 }, ...record };
      return { status: 200, job: readJob(Buffer.from(JSON.stringify(finished))) };
    },
    read: async (id, range) => {
      const seconds = Number(/\d+/.exec(id)?.[0]);
      return { ...partOf(film(seconds, id), range), ...read?.(range) };
    },
    cancel: async (id) => {
      cancelled.push(id);
    },
    pause: async () => undefined,
  };
  const deployment = videoListing({ min: 4, max: 12, default: usual });
  const lab = stubLab(
    deployment,
    (probe) => {
      asked.push(probe.name);
      const answer = accept?.(probe);
      if (answer !== undefined) return answer;
      return isTooLong(probe) ? { status: 400 } : { body: { id: idOf(probe), status: "queued" } };
    },
    jobs,
  );
  const finding = await videoSpecifics(lab);
  return { ...finding, cancelled, asked, ended: lab.endedJobs() };
}

function idOf({ name }: Probe): string {
  return name.replaceAll(/[ ,]+/g, "-");
}

function partOf(file: Buffer, { first, last }: ByteRange): FilePart {
  return {
    end: { kind: "complete" },
    status: 206,
    contentRange: `bytes ${first}-${last}/${file.length}`,
    bytes: file.subarray(first, last + 1),
  };
}

test("an honest video provider passes C11", async () => {
  const { status, message, asked, cancelled, ended } = await seenOf();
  expect(status).toBe("pass");
  expect(message).toContain("video of 8 s: completed, with a cost under the ceiling");
  expect(asked).toEqual(["13 seconds, one above the maximum", "video of 4 s", "video of 8 s"]);
  expect(cancelled).toEqual([]);
  expect(ended.map(({ model }) => model)).toEqual(["m", "m"]);
});

test("C11 is skipped in a run that does not poll jobs", async () => {
  const lab = stubLab(videoListing({ min: 4, max: 12, default: 4 }), () => ({ status: 400 }));
  expect(await videoSpecifics(lab)).toMatchObject({ status: "skip" });
});

test.each<[string, NonNullable<Provider["film"]>, string]>([
  ["is an HTML page", () => Buffer.from("<html>".repeat(20)), "the file is no film"],
  ["is too short", (_seconds, id) => filmOf(1, id), "not as long as was asked for"],
  ["belongs to another job", (seconds) => filmOf(seconds, "one"), "have the same film"],
])("C11 fails a film that %s", async (_what, film, message) => {
  const { status, message: found } = await seenOf({ film });
  expect(status).toBe("fail");
  expect(found).toContain(message);
});

test.each<[string, object, string]>([
  ["costs more than its seconds", { usage: { cost: 0.401 } }, "costs more than the ceiling"],
  ["reports no cost", { usage: {} }, "reports no cost"],
  ["fails and is billed", { status: "failed" }, "ended as failed is billed"],
  ["is refused", { respect_moderation: false, usage: undefined }, "ended as refused"],
  ["does not end", { status: "queued" }, "the job is queued after"],
])("C11 fails a job that %s", async (_what, record, message) => {
  const { status, message: found } = await seenOf({ record });
  expect(status).toBe("fail");
  expect(found).toContain(message);
});

test("a video one second above the maximum fails C11 if it is accepted, and its job is cancelled", async () => {
  const accept = (probe: Probe) => ({ body: { id: idOf(probe), status: "queued" } });
  expect(await seenOf({ accept })).toMatchObject({
    status: "fail",
    message: "13 seconds, one above the maximum: accepted with 200",
    cancelled: ["13-seconds-one-above-the-maximum"],
  });
});

describe("C11 does not pass a file", () => {
  const otherBytes = ({ first }: ByteRange): Partial<FilePart> =>
    first === 0 ? {} : { bytes: FILE.subarray(0, 32) };
  const unsatisfied = () => ({ status: 416, bytes: Buffer.alloc(0) });
  const end = { kind: "refused", status: 404, headers: {}, isAway: false } as const;
  test.each<[string, string, NonNullable<Provider["read"]>, string]>([
    ["whose range has other bytes", "fail", otherBytes, "differ in the bytes"],
    ["whose range is answered with 416", "fail", unsatisfied, "answered with 416"],
    ["that cannot be read", "fail", () => ({ status: undefined, end }), "not read: status 404"],
    ["that is sent whole for a range", "warn", () => ({ status: 200 }), "answered with all of it"],
  ])("%s: %s", async (_what, status, read, message) => {
    const found = await seenOf({ read });
    expect(found.status).toBe(status);
    expect(found.message).toContain(message);
  });
});

test("C11 is skipped for a video over the budget, unless an earlier one failed", async () => {
  const overBudget = (other: Answer) => (probe: Probe) =>
    probe.name === "video of 8 s" ? ("unsent" as const) : other;
  const queued = { body: { id: "j", status: "queued" } };
  const accept = (probe: Probe) => (isTooLong(probe) ? { status: 400 } : overBudget(queued)(probe));
  const message = "video of 8 s: over the budget of the run";
  expect(await seenOf({ accept })).toMatchObject({ status: "skip", message });
  expect(await seenOf({ accept: overBudget({ status: 400 }) })).toMatchObject({ status: "fail" });
});
