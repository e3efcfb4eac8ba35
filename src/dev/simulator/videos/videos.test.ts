import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { callHost, type HostAnswer, type HostCall } from "../fixtures/host-client.ts";
import { startSimulator, type Simulator } from "../simulator.ts";

const REFERENCE = "/vid/v1/videos";
const RELAY = "/vidor/v1/videos";
const TICKS = "/vidx/v1/videos";
const FILE_BYTES = 65_536;

let simulator: Simulator;
let nowMs = 1_795_000_000_000;

beforeAll(async () => {
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  simulator = await startSimulator({ port: 0, host: "127.0.0.1", clock });
});
afterEach(async () => {
  await call("/faults", { method: "DELETE" });
  await call("/calls/reset", { method: "POST" });
});
afterAll(() => simulator.close());

function call(path: string, more: HostCall = {}): Promise<HostAnswer> {
  return callHost(simulator.url + path, more);
}

interface Order {
  readonly more?: object;
  readonly fault?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function create(path: string, { more = {}, ...rest }: Order = {}): Promise<HostAnswer> {
  return call(path, { body: { model: "camera", prompt: "waves", seconds: 8, ...more }, ...rest });
}

/** The path of a job that was created with this plan. */
async function jobOf(path: string, plan: object = {}): Promise<string> {
  const answer = await create(path, { fault: `job:${JSON.stringify(plan)}` });
  const { id, request_id: requestId } = answer.json();
  return `${path}/${String(id ?? requestId)}`;
}

async function finished(path: string, plan: object = {}): Promise<string> {
  return await jobOf(path, { states: [], ...plan });
}

function lastJob() {
  return simulator.jobs().at(-1);
}

describe("the life of a job", () => {
  test("on the reference: queued, in progress, completed with what it cost", async () => {
    const created = await create(REFERENCE, { more: { seconds: "8", size: "1280x720" } });
    expect(created.status).toBe(200);
    expect(created.json()).toMatchObject({
      object: "video",
      status: "queued",
      progress: 0,
      seconds: "8",
      size: "1280x720",
      error: null,
    });
    expect(created.json()).not.toHaveProperty("usage");
    const path = `${REFERENCE}/${String(created.json()["id"])}`;
    expect((await call(path)).json()).toMatchObject({ status: "in_progress", progress: 50 });
    const done = await call(path);
    expect(done.json()).toMatchObject({ status: "completed", progress: 100, usage: { cost: 0.8 } });
    expect(lastJob()).toMatchObject({ creates: 1, polls: 2, contents: 0, cancels: 0 });
  });

  test("on the relay: accepted with 202, pending, then addresses and a cost", async () => {
    const created = await create(RELAY, { more: { resolution: "720p", generate_audio: true } });
    expect(created.status).toBe(202);
    expect(created.json()).toMatchObject({ status: "pending", polling_url: expect.any(String) });
    const path = String(created.json()["polling_url"]);
    expect((await call(path)).json()).toMatchObject({ status: "in_progress" });
    const done = await call(path);
    expect(done.json()).toMatchObject({
      status: "completed",
      unsigned_urls: [expect.stringContaining("/vidor/v1/files/")],
      usage: { cost: 0.8, is_byok: false },
    });
  });

  test("on the host that counts in ticks: a request id, pending, done", async () => {
    const created = await create(TICKS);
    expect(Object.keys(created.json())).toEqual(["request_id"]);
    const path = `${TICKS}/${String(created.json()["request_id"])}`;
    expect((await call(path)).json()).toEqual({ status: "pending", model: "camera" });
    const done = await call(path);
    expect(done.json()).toMatchObject({
      status: "done",
      video: { duration: 8, respect_moderation: true },
      usage: { cost_in_usd_ticks: 8_000_000_000 },
    });
  });

  test("states come as they are scripted, foreign names too, and the last one can stay", async () => {
    const states = ["queued", "warming up", "in_progress"];
    const path = await jobOf(REFERENCE, { states, never: true });
    const seen: unknown[] = [];
    for (let poll = 0; poll < 4; poll += 1) seen.push((await call(path)).json()["status"]);
    expect(seen).toEqual(["warming up", "in_progress", "in_progress", "in_progress"]);
  });

  test("a job can continue by the clock, independent of polls", async () => {
    const path = await jobOf(RELAY, { ms: 1_000 });
    expect((await call(path)).json()["status"]).toBe("pending");
    expect((await call(path)).json()["status"]).toBe("pending");
    nowMs += 1_000;
    expect((await call(path)).json()["status"]).toBe("in_progress");
    nowMs += 1_000;
    expect((await call(path)).json()["status"]).toBe("completed");
  });

  test.each([
    [
      REFERENCE,
      { final: "failed" },
      { status: "failed", error: { code: "video_generation_failed" } },
    ],
    [REFERENCE, { moderated: true }, { status: "failed", error: { code: "moderation_blocked" } }],
    [
      RELAY,
      { final: "failed", code: "boom", message: "m" },
      { status: "failed", error: "boom: m" },
    ],
    [RELAY, { final: "cancelled" }, { status: "cancelled" }],
    [RELAY, { final: "expired" }, { status: "expired" }],
    [TICKS, { moderated: true }, { status: "done", video: { url: "", respect_moderation: false } }],
    [TICKS, { final: "failed" }, { status: "failed", error: { message: expect.any(String) } }],
  ])("%s %j ends so", async (path, plan, shape) => {
    expect((await call(await finished(path, plan))).json()).toMatchObject(shape);
  });

  test.each([
    [REFERENCE, { cost: "0.123456789012345678" }, '"cost":0.123456789012345678'],
    [TICKS, { cost: "0.5" }, '"cost_in_usd_ticks":5000000000'],
    [RELAY, { final: "failed", cost: "0.3" }, '"cost":0.3'],
  ])("%s %j reports it digit for digit", async (path, plan, text) => {
    expect((await call(await finished(path, plan))).bytes.toString()).toContain(text);
  });

  test.each([[{ cost: null }], [{ final: "failed" }]])("%j reports no cost", async (plan) => {
    expect((await call(await finished(RELAY, plan))).json()).not.toHaveProperty("usage");
  });
});

describe("creating", () => {
  test.each([
    [REFERENCE, { resolution: "720p" }, "Unknown parameter: 'resolution'."],
    [REFERENCE, { seconds: 2.5 }, "Invalid 'seconds'"],
    [REFERENCE, { input_reference: "x" }, "Unknown parameter: 'input_reference'."],
    [RELAY, { generate_audio: "yes" }, "'generate_audio'"],
    [TICKS, { size: "1280x720" }, "Unknown parameter: 'size'."],
    [TICKS, { model: null }, "model"],
  ])("%s refuses %j", async (path, more, message) => {
    const answer = await create(path, { more });
    expect(answer.status).toBe(400);
    expect(answer.bytes.toString()).toContain(message);
  });

  test("a job that was refused with a status does not exist", async () => {
    const jobs = simulator.jobs().length;
    expect((await create(RELAY, { fault: "status:503" })).status).toBe(503);
    expect((await create(RELAY, { fault: "refuse" })).status).toBe(0);
    expect((await create(RELAY, { more: { model: "unknown" } })).status).toBe(404);
    expect(simulator.jobs()).toHaveLength(jobs);
    expect(simulator.counts().total).toBe(3);
  });

  test("a job whose answer is lost on the way was made all the same", async () => {
    const jobs = simulator.jobs().length;
    expect((await create(RELAY, { fault: "reset:headers" })).status).toBe(0);
    expect(simulator.jobs()).toHaveLength(jobs + 1);
  });

  test("the same idempotency key gets the same job, another provider a job of its own", async () => {
    const headers = { "idempotency-key": "attempt-1" };
    const [one, again] = [await create(RELAY, { headers }), await create(RELAY, { headers })];
    expect(again.json()["id"]).toBe(one.json()["id"]);
    expect(lastJob()).toMatchObject({ creates: 2 });
    const other = await create("/vidor-b/v1/videos", { headers });
    expect(other.json()["id"]).not.toBe(one.json()["id"]);
  });
});

describe("a job belongs to its provider", () => {
  test("another one does not know it", async () => {
    const path = await finished(RELAY);
    expect((await call(path.replace("/vidor/", "/vidor-b/"))).status).toBe(404);
    expect((await call(`${RELAY}/job-nobody`)).status).toBe(404);
  });

  test("the relay cancels a running job, and no other", async () => {
    const running = await jobOf(RELAY);
    expect((await call(running, { method: "DELETE" })).json()["status"]).toBe("cancelled");
    expect((await call(running)).json()["status"]).toBe("cancelled");
    expect((await call(await finished(RELAY), { method: "DELETE" })).status).toBe(409);
  });

  test("the reference deletes for good", async () => {
    const path = await finished(REFERENCE);
    expect((await call(path, { method: "DELETE" })).json()).toMatchObject({ deleted: true });
    expect((await call(path)).status).toBe(404);
    expect(lastJob()).toMatchObject({ state: "deleted", cancels: 1 });
  });
});

describe("the file", () => {
  test("is there when the job is done, and not before", async () => {
    const path = await jobOf(REFERENCE);
    expect((await call(`${path}/content`)).status).toBe(404);
    await call(path);
    await call(path);
    const file = await call(`${path}/content`);
    expect(file).toMatchObject({ status: 200, isComplete: true });
    expect(file.headers).toMatchObject({
      "content-type": "video/mp4",
      "content-length": String(FILE_BYTES),
      "accept-ranges": "bytes",
    });
    expect(file.bytes.subarray(4, 12).toString()).toBe("ftypmp42");
    expect([...file.bytes.subarray(250, 253)]).toEqual([250, 0, 1]);
    expect(lastJob()).toMatchObject({ contents: 2 });
  });

  test.each([
    ["bytes=0-99", 206, 0, 100],
    ["bytes=65000-", 206, 65_000, FILE_BYTES],
    ["bytes=-10", 206, FILE_BYTES - 10, FILE_BYTES],
    ["bytes=65535-99999", 206, FILE_BYTES - 1, FILE_BYTES],
    ["bytes=0-1,5-6", 200, 0, FILE_BYTES],
    ["bytes=9-3", 200, 0, FILE_BYTES],
  ])("%s is %i", async (range, status, from, to) => {
    const path = `${await finished(RELAY)}/content`;
    const whole = await call(path);
    const part = await call(path, { headers: { range } });
    expect(part.status).toBe(status);
    expect(part.bytes).toEqual(whole.bytes.subarray(from, to));
    const said = status === 206 ? `bytes ${from}-${to - 1}/${FILE_BYTES}` : undefined;
    expect(part.headers["content-range"]).toBe(said);
  });

  test("a range behind the end is 416, one of another version the whole file", async () => {
    const path = `${await finished(RELAY)}/content`;
    const beyond = await call(path, { headers: { range: `bytes=${FILE_BYTES}-` } });
    expect(beyond.status).toBe(416);
    expect(beyond.headers["content-range"]).toBe(`bytes */${FILE_BYTES}`);
    const { etag = "" } = beyond.headers;
    const headers = { range: "bytes=0-9", "if-range": etag };
    expect((await call(path, { headers })).status).toBe(206);
    expect((await call(path, { headers: { ...headers, "if-range": '"old"' } })).status).toBe(200);
  });

  test("HEAD answers the length and sends nothing", async () => {
    const path = `${await finished(TICKS, { bytes: 1_000_000 })}/content`;
    const head = await call(path, { method: "HEAD" });
    expect(head.headers["content-length"]).toBe("1000000");
    expect(head.bytes).toHaveLength(0);
  });

  test.each([
    [REFERENCE, 404],
    [RELAY, 410],
    [TICKS, 410],
  ])("of %s is gone with %i when it has expired", async (path, status) => {
    const job = await finished(path, { expires: 60 });
    expect((await call(`${job}/content`)).status).toBe(200);
    nowMs += 60_000;
    expect((await call(`${job}/content`)).status).toBe(status);
  });

  test("can be missing, a page, cut in the middle, or late", async () => {
    const content = async (plan: object) => await call(`${await finished(RELAY, plan)}/content`);
    expect((await content({ no_content: true })).status).toBe(404);
    expect((await content({ content: "body:html" })).headers["content-type"]).toBe("text/html");
    expect(await content({ content: "reset:body:100" })).toMatchObject({
      status: 200,
      isComplete: false,
    });
    expect((await content({ content: "wrong_length:9" })).isComplete).toBe(false);
    expect((await content({ content: "drip:40;slow:1", bytes: 8 })).bytes).toHaveLength(8);
  });

  test.each([
    ["self", /^\/vidor\/v1\/videos\/job-\w+\/content$/],
    ["file", /^http:\/\/127\.0\.0\.1:\d+\/vidor\/v1\/files\/job-\w+\.mp4$/],
    ["other", /^http:\/\/localhost:\d+\/vidor\/v1\/files\/job-\w+\.mp4$/],
    ["private", /^http:\/\/10\.0\.0\.1\//],
    ["https://elsewhere.example/x", /^https:\/\/elsewhere\.example\/x$/],
  ])("redirect:%s", async (target, location) => {
    const path = `${await finished(RELAY, { content: `redirect:${target}` })}/content`;
    const answer = await call(path);
    expect(answer.status).toBe(302);
    expect(answer.headers.location).toMatch(location);
  });

  test("comes from the address that a redirect names, and that is counted", async () => {
    const path = `${await finished(RELAY, { content: "redirect:file" })}/content`;
    const { location = "" } = (await call(path)).headers;
    expect((await callHost(location)).bytes).toHaveLength(FILE_BYTES);
    expect(lastJob()).toMatchObject({ contents: 1, files: 1 });
  });
});

describe("faults of calls about a job", () => {
  test("polls go wrong as often as the plan says, the create not at all", async () => {
    const path = await jobOf(RELAY, { poll: "status:503;retry_after:7", poll_times: 2 });
    const polls = [await call(path), await call(path), await call(path)];
    expect(polls.map(({ status }) => status)).toEqual([503, 503, 200]);
    expect(polls[0]?.headers["retry-after"]).toBe("7");
    expect(polls[2]?.json()["status"]).toBe("completed");
  });

  test("a cancel can be refused", async () => {
    const path = await jobOf(RELAY, { cancel: "status:409" });
    expect((await call(path, { method: "DELETE" })).status).toBe(409);
    expect((await call(path)).json()["status"]).toBe("in_progress");
  });

  test("a marker in the prompt makes the plan, and rules know the job's model", async () => {
    const plan = '[[fault:job:{"states":["in_progress"],"final":"failed","code":"x"}]]';
    const created = await create(REFERENCE, { more: { prompt: `waves ${plan}`, model: "reel" } });
    expect(created.json()["status"]).toBe("in_progress");
    const path = `${REFERENCE}/${String(created.json()["id"])}`;
    simulator.script({ method: "GET", model: "reel", fault: "status:500", times: 1 });
    expect((await call(path)).status).toBe(500);
    expect((await call(path)).json()).toMatchObject({ status: "failed", error: { code: "x" } });
  });

  test("are logged and counted by path, and are not generation calls", async () => {
    const path = await finished(RELAY);
    await call(path);
    await call(`${path}/content`, {
      headers: { range: "bytes=0-1", authorization: "Bearer sk-x" },
    });
    await call(path, { method: "DELETE" });
    const { total, paths, open } = simulator.counts();
    expect({ total, open }).toEqual({ total: 1, open: 0 });
    expect(paths).toEqual({ [RELAY]: 1, [path]: 2, [`${path}/content`]: 1 });
    expect(simulator.calls().map(({ method, number }) => [method, number])).toEqual([
      ["POST", 1],
      ["GET", 0],
      ["GET", 0],
      ["DELETE", 0],
    ]);
    expect(simulator.calls()[2]?.headers["range"]).toBe("bytes=0-1");
    expect((await call("/jobs")).json()["jobs"]).toHaveLength(simulator.jobs().length);
  });
});
