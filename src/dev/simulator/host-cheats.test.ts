import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CheatName } from "./cheats.ts";
import { callHost, type HostAnswer } from "./fixtures/host-client.ts";
import { pictureSize } from "./fixtures/picture-size.ts";
import { isObject, objectsOf, textOf } from "./json.ts";
import { startSimulator, type Simulator } from "./simulator.ts";

const NOW_MS = 1_795_000_000_000;

let simulator: Simulator;

beforeAll(async () => {
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS };
  simulator = await startSimulator({ port: 0, host: "127.0.0.1", clock });
});
afterAll(() => simulator.close());

function post(path: string, body: object, cheat?: CheatName): Promise<HostAnswer> {
  const fault = cheat === undefined ? {} : { fault: `cheat:${cheat}` };
  return callHost(simulator.url + path, { body: { model: "m", ...body }, ...fault });
}

const QUESTION = { urgent: { type: "noul", instructions: "Is it urgent?" } };

/** A host of each kind, and the least that it takes. */
const HOSTS = [
  ["/img/v1/images/generations", "/img-moved/v1/images/generations", { prompt: "p" }],
  ["/vid-1/v1/videos", "/vid-1-moved/v1/videos", { prompt: "p", seconds: 1 }],
  ["/sys/v1/systemone", "/sys-moved/v1/systemone", { state: "s", questions: QUESTION }],
  ["/gli/v1/gliner-2", "/gli-moved/v1/gliner-2", { text: "s", schema: { entities: ["a"] } }],
] as const;

describe.each(HOSTS)("on %s", (path, moved, body) => {
  const url = () => simulator.url + path;
  const sent = { model: "m", ...body };

  test("wrong-key-accepted serves a wrong key, and a customer's key is refused", async () => {
    const fault = "cheat:wrong-key-accepted";
    const wrong = { authorization: "Bearer invalid" };
    expect((await callHost(url(), { body: sent, headers: wrong })).status).toBe(401);
    expect((await callHost(url(), { body: sent, headers: wrong, fault })).status).toBe(200);
    const customers = { authorization: `Bearer tm_vk_${"a".repeat(48)}` };
    expect((await callHost(url(), { body: sent, headers: customers, fault })).status).toBe(401);
  });

  test("unknown-model-served serves it", async () => {
    const unknown = { ...body, model: "unknown-x" };
    expect((await post(path, unknown)).status).toBe(404);
    expect((await post(path, unknown, "unknown-model-served")).status).toBe(200);
  });

  test("redirect leads to where the request is served", async () => {
    const answer = await post(path, body, "redirect");
    expect(answer).toMatchObject({ status: 307, headers: { location: moved } });
    expect((await post(moved, body, "redirect")).status).toBe(200);
  });

  test("errors are pages with their status, or 500", async () => {
    const unknown = { ...body, model: "unknown-x" };
    const page = await post(path, unknown, "errors-as-html");
    expect(page).toMatchObject({ status: 404, headers: { "content-type": "text/html" } });
    const broken = await post(path, unknown, "error-as-500");
    expect(broken.status).toBe(500);
    expect(broken.json()).toEqual((await post(path, unknown)).json());
  });
});

describe("images", () => {
  const PATHS = ["/img/v1/images/generations", "/imgor/v1/images/generations"] as const;

  function picturesIn(answer: HostAnswer): readonly Buffer[] {
    return objectsOf(answer.json()["data"]).map((item) =>
      Buffer.from(textOf(item["b64_json"]), "base64"),
    );
  }

  test.each(PATHS)("image-wrong-size on %s halves the width", async (path) => {
    const honest = await post(path, { prompt: "p", n: 2 });
    const wrong = await post(path, { prompt: "p", n: 2 }, "image-wrong-size");
    expect(picturesIn(wrong).map(pictureSize)).toEqual([
      [512, 1024],
      [512, 1024],
    ]);
    const { data: _pictures, ...rest } = wrong.json();
    expect(honest.json()).toMatchObject(rest);
  });

  test.each(PATHS)("image-one-missing on %s sends one fewer and bills all", async (path) => {
    const honest = await post(path, { prompt: "p", n: 3 });
    const missing = await post(path, { prompt: "p", n: 3 }, "image-one-missing");
    const { data } = honest.json();
    expect(missing.json()).toEqual({ ...honest.json(), data: objectsOf(data).slice(0, 2) });
    const one = await post(path, { prompt: "p" }, "image-one-missing");
    expect(one.json()).toEqual((await post(path, { prompt: "p" })).json());
  });
});

describe("videos", () => {
  /** The record of a job at its end. */
  async function madeBy(path: string, body: object, cheat?: CheatName) {
    const created = (await post(path, { prompt: "p", ...body }, cheat)).json();
    const { id, request_id: requestId } = created;
    const at = `${simulator.url}${path}/${String(id ?? requestId)}`;
    await callHost(at);
    const { bytes, json } = await callHost(at);
    const { status, error, usage } = json();
    return {
      status,
      isError: isObject(error) || textOf(error) !== "",
      usage,
      text: bytes.toString(),
    };
  }

  test.each([
    ["/vid/v1/videos", "completed", { cost: 0.4 }],
    ["/vidor/v1/videos", "completed", { cost: 0.4, is_byok: false }],
    ["/vidx/v1/videos", "done", { cost_in_usd_ticks: 4_000_000_000 }],
  ])("video-failed-but-billed on %s", async (path, done, usage) => {
    expect(await madeBy(path, {})).toMatchObject({ status: done, isError: false, usage });
    const failed = await madeBy(path, {}, "video-failed-but-billed");
    expect(failed).toMatchObject({ status: "failed", isError: true, usage });
  });

  test.each([
    ["/vid/v1/videos", 12],
    ["/vidor/v1/videos", 8],
    ["/vidx/v1/videos", 15],
  ])("video-seconds-over-max-accepted on %s, which makes %i", async (path, max) => {
    expect(await madeBy(path, { seconds: max })).toMatchObject({ isError: false });
    const over = { prompt: "p", seconds: max + 1 };
    const refused = await post(path, over);
    expect(refused.status).toBe(400);
    expect(refused.bytes.toString()).toContain(`from 1 to ${max}`);
    const cheat = "video-seconds-over-max-accepted";
    expect((await post(path, over, cheat)).status).toBeLessThan(300);
    expect(simulator.jobs().at(-1)).toMatchObject({ creates: 1, model: "m" });
    expect((await post(path, { ...over, seconds: 0 }, cheat)).status).toBe(400);
  });
});

describe("decisions", () => {
  const questions = {
    urgent: { type: "noul", instructions: "Is it urgent?" },
    team: { type: "choice", instructions: "Which team?", criteria: { billing: "b", tech: "t" } },
    part: { type: "choice", instructions: "Which?", criteria: { a: "1", b: "2", c: "3", d: "4" } },
    anger: { type: "score", instructions: "How angry?", criteria: ["calm", "cross", "furious"] },
  };
  const order = { state: "a problem with billing", questions };

  function likelyOf(answer: unknown): readonly number[] {
    const likely = isObject(answer) ? answer["probabilities"] : undefined;
    return isObject(likely) ? Object.values(likely).map(Number) : [];
  }

  test("decision-probabilities-off keeps the choice and the order, not the sum", async () => {
    const path = "/sys/v1/systemone";
    const honest = (await post(path, order)).json();
    const off = (await post(path, order, "decision-probabilities-off")).json();
    const [right, wrong] = [honest["answers"], off["answers"]];
    if (!isObject(right) || !isObject(wrong)) throw new Error("no answers");
    const withoutLikely = (answers: object) =>
      JSON.stringify(answers, (key, value: unknown) => (key === "probabilities" ? 0 : value));
    expect(withoutLikely(off)).toBe(withoutLikely(honest));
    for (const id of ["team", "part", "anger"]) {
      const sumOf = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0);
      expect(sumOf(likelyOf(right[id]))).toBeCloseTo(1, 3);
      expect(sumOf(likelyOf(wrong[id]))).toBeCloseTo(1.4, 3);
      const rank = (values: readonly number[]) =>
        values.map((_value, at) => at).sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0));
      expect(rank(likelyOf(wrong[id]))).toEqual(rank(likelyOf(right[id])));
      expect(Math.max(...likelyOf(wrong[id]))).toBeLessThanOrEqual(1);
    }
  });

  test.each([
    ["/sys/v1/systemone", "input_tokens", 3],
    ["/pplx/v1/decisions", "input_tokens", 0],
  ])("decision-state-per-question on %s", async (path, field, times) => {
    const cheat = "decision-state-per-question";
    const honest = (await post(path, order)).json();
    const counted = (await post(path, order, cheat)).json();
    const stateTokens = Math.ceil(order.state.length / 4);
    const usage = isObject(honest["usage"]) ? honest["usage"] : {};
    const more = { ...usage, [field]: Number(usage[field]) + times * stateTokens };
    expect(counted).toEqual({ ...honest, usage: more });
    const single = { state: order.state, questions: QUESTION };
    expect((await post(path, single, cheat)).json()).toEqual((await post(path, single)).json());
  });

  test("decision-state-per-question on the host that has one count", async () => {
    const body = { text: "Ann lives in Oslo", schema: { entities: ["a"], relations: ["b"] } };
    const honest = (await post("/gli/v1/gliner-2", body)).json();
    const counted = (await post("/gli/v1/gliner-2", body, "decision-state-per-question")).json();
    const tokens = Number(honest["token_usage"]) + Math.ceil(body.text.length / 4);
    expect(counted).toEqual({ ...honest, token_usage: tokens });
  });

  test("image-ignored makes all images the same, and refuses what the host refuses", async () => {
    const path = "/pplx/v1/decisions";
    const withImage = (url: string) => ({
      state: { note: "n", photo: { type: "image_url", image_url: { url } } },
      questions: QUESTION,
    });
    const red = withImage("data:image/png;base64,iVBORw0KGgo=");
    const blue = withImage("data:image/png;base64,iVBORw0KGgp=");
    const answersTo = async (body: object, cheat?: CheatName) =>
      (await post(path, body, cheat)).json();
    expect(await answersTo(red)).not.toEqual(await answersTo(blue));
    const ignored = await answersTo(red, "image-ignored");
    expect(await answersTo(blue, "image-ignored")).toEqual(ignored);
    expect(ignored["usage"]).toEqual((await answersTo(red))["usage"]);
    const remote = withImage("https://a.test/i.png");
    expect((await post(path, remote, "image-ignored")).status).toBe(400);
    const other = { ...red, state: { ...red.state, note: "another" } };
    expect(await answersTo(other, "image-ignored")).not.toEqual(ignored);
  });
});
