import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { callHost, type HostAnswer } from "../fixtures/host-client.ts";
import { startSimulator, type Simulator } from "../simulator.ts";

const PLAIN = "/sys/v1/systemone";
const PER_QUESTION = "/pplx/v1/decisions";
const ENVELOPE = "/wai/v1/run/clef";
const GLINER = "/gli/v1/gliner-2";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, host: "127.0.0.1" });
});
afterEach(async () => {
  await callHost(`${simulator.url}/calls/reset`, { method: "POST" });
});
afterAll(() => simulator.close());

function post(path: string, body: object, fault?: string): Promise<HostAnswer> {
  const sent = { model: "decider", ...body };
  return callHost(simulator.url + path, { body: sent, ...(fault === undefined ? {} : { fault }) });
}

const urgent = { type: "noul", instructions: "Is it urgent?", criteria: { true: "now" } };
const team = {
  type: "choice",
  instructions: "Which team?",
  criteria: { billing: "b", tech: null },
};
const anger = { type: "score", instructions: "How angry?", criteria: ["calm", "cross", "furious"] };
const asked = { state: "a problem with billing", questions: { urgent, team, anger } };
const PNG = "data:image/png;base64,iVBORw0KGgo=";

function ask(path: string, fault?: string): Promise<HostAnswer> {
  return post(path, asked, fault);
}

describe("systemone", () => {
  test("answers every kind of question in its type, and the same way every time", async () => {
    const answer = (await ask(PLAIN)).json();
    const { answers } = answer as { answers: Record<string, Record<string, number>> };
    expect(answer).toMatchObject({
      model: "decider",
      answers: {
        urgent: { type: "noul", noul: expect.any(Number) },
        team: { type: "choice", choice: "billing", probabilities: { billing: expect.any(Number) } },
        anger: { type: "score", legend: { 0: "calm", 1: "cross", 2: "furious" } },
      },
    });
    expect(answers["anger"]?.["score"]).toBeGreaterThanOrEqual(0);
    expect(answers["anger"]?.["score"]).toBeLessThanOrEqual(2);
    expect((await ask(PLAIN)).json()).toEqual(answer);
  });

  test("answers a question by what it says, whatever it is called", async () => {
    const questions = { a: urgent, b: urgent };
    const { answers } = (await post(PLAIN, { ...asked, questions })).json() as {
      answers: Record<string, unknown>;
    };
    expect(answers["a"]).toEqual(answers["b"]);
  });

  test("reads the state once, or once for each question", async () => {
    const state = "x".repeat(4_000);
    const usageOf = async (path: string) =>
      (await post(path, { ...asked, state })).json()["usage"] as { input_tokens: number };
    const once = (await usageOf(PLAIN)).input_tokens;
    expect((await usageOf(PER_QUESTION)).input_tokens).toBe(once + 2_000);
  });

  const image = (url: string) => [{ type: "image_url", image_url: { url } }];
  const box = { type: "box", instructions: "the mug" };

  test("an image is read by the host that reads images, and from data URLs only", async () => {
    const body = { state: { photo: image(PNG) }, questions: { box } };
    const read = await post(PER_QUESTION, body);
    expect(read.json()["answers"]).toMatchObject({ box: { type: "box", top: expect.any(Number) } });
    expect((await post(PLAIN, body)).status).toBe(422);
    const remote = { ...body, state: image("https://example.com/a.png") };
    expect((await post(PER_QUESTION, remote)).status).toBe(400);
  });

  test.each([
    [{ ...asked, temperature: 1 }, "temperature: extra fields"],
    [{ questions: { urgent } }, "state"],
    [{ ...asked, questions: {} }, "expected 1 to 128"],
    [{ ...asked, questions: [urgent] }, "questions: expected an object"],
    [{ ...asked, questions: { "a b": urgent } }, "not a name"],
    [{ ...asked, questions: { a: { ...urgent, schema: {} } } }, "questions.a.schema"],
    [{ ...asked, questions: { a: { type: "boolean", instructions: "x" } } }, "questions.a.type"],
    [{ ...asked, questions: { a: { type: "noul" } } }, "questions.a.instructions"],
    [{ ...asked, questions: { a: { ...team, criteria: { one: null } } } }, "1 options"],
    [{ ...asked, questions: { a: { ...anger, criteria: ["one"] } } }, "1 levels"],
    [{ ...asked, questions: { box } }, "needs an image"],
  ])("the public form refuses %j", async (body, message) => {
    const answer = await post(PLAIN, body);
    expect(answer.status).toBe(422);
    expect(answer.bytes.toString()).toContain(message);
  });

  test("the marketplace's grammar is read as it was sent", async () => {
    const questions = [
      { name: "urgent", schema: { type: "boolean" }, instructions: "Is it urgent?" },
      { schema: { type: "string", enum: ["billing", "tech"] }, question: "Which team?" },
      { id: "stars", schema: { type: "integer", min: 1, max: 5 }, instructions: "How many?" },
      { name: "flat", ...anger },
    ];
    const answer = await post("/sys/v1/as_sent", { ...asked, questions, metadata: { a: 1 } });
    expect(answer.json()["answers"]).toMatchObject({
      urgent: { type: "noul" },
      q2: { type: "choice", choice: "billing" },
      stars: { type: "score", legend: { 0: 1, 4: 5 } },
      flat: { type: "score", legend: { 0: "calm" } },
    });
    for (const host of ["pplx", "wai"]) {
      expect((await post(`/${host}/v1/as_sent`, { ...asked, questions })).status).toBe(200);
    }
    expect((await post("/sys/v1/as_sent", { state: "s", questions: {} })).status).toBe(422);
  });

  test.each(["sys", "pplx", "wai", "gli"])("%s refuses two questions of one name", async (host) => {
    const question = host === "gli" ? { type: "classification", labels: ["a", "b"] } : urgent;
    const questions = [
      { name: "same", ...question },
      { name: "same", ...question },
    ];
    const answer = await post(`/${host}/v1/as_sent`, { state: "s", questions });
    expect(answer.status).toBe(422);
    expect(answer.bytes.toString()).toContain("two are named same");
  });

  test("what is too long is refused with the host's message", async () => {
    const long = await post(PLAIN, { ...asked, state: "x".repeat(140_000) });
    expect(long.status).toBe(400);
    expect(long.bytes.toString()).toContain("maximum context length of 32000");
    expect((await ask(PER_QUESTION, "context_overflow")).bytes.toString()).toContain("(262144)");
  });
});

describe("the envelope", () => {
  test("holds the wire's body", async () => {
    const { result, ...rest } = (await ask(ENVELOPE)).json();
    expect(result).toEqual((await ask(PLAIN)).json());
    expect(rest).toEqual({ success: true, errors: [], messages: [] });
  });

  test.each([
    [5021, 413],
    [3036, 429],
    [4006, 429],
    [3040, 429],
    [5012, 422],
    [5006, 400],
    [7000, 400],
    [10_000, 401],
  ])("code %i comes with %i", async (code, status) => {
    const answer = await ask(ENVELOPE, `envelope:{"code":${code}}`);
    expect(answer.status).toBe(status);
    expect(answer.json()).toEqual({
      result: {},
      success: false,
      errors: [{ code, message: expect.stringMatching(/\w/) }],
      messages: [],
    });
  });

  test.each([
    ['envelope:{"success":false,"code":3036}', 200, 3036],
    ['envelope:{"success":false}', 200, 5012],
    ['envelope:{"code":5012,"status":529,"message":"later"}', 529, 5012],
    ["status:429", 429, 3040],
    ["status:504", 504, 5012],
    ["status:402;code:4444", 402, 4444],
  ])("%s", async (fault, status, code) => {
    const answer = await ask(ENVELOPE, fault);
    expect(answer.status).toBe(status);
    expect(answer.json()).toMatchObject({ success: false, errors: [{ code }] });
  });

  test("can hold a second one in its message", async () => {
    const answer = await ask(ENVELOPE, 'envelope:{"code":5021,"nested":true}');
    const [error] = answer.json()["errors"] as { message: string }[];
    const inner: unknown = JSON.parse(error?.message.replace("AiError: ", "") ?? "");
    expect(inner).toMatchObject({ success: false, errors: [{ code: 5021 }] });
  });

  test("can be missing or empty", async () => {
    expect((await ask(ENVELOPE, 'envelope:{"bare":true}')).json()).toHaveProperty("answers");
    expect((await ask(ENVELOPE, 'envelope:{"empty":true}')).json()).toMatchObject({ result: {} });
  });

  test("is around refusals of its own: a long body, a bad question, a path, a key", async () => {
    const codeOf = async (answer: Promise<HostAnswer>) => {
      const { status, json } = await answer;
      return [status, (json()["errors"] as { code: number }[])[0]?.code];
    };
    const long = { ...asked, state: "x".repeat(262_144) };
    expect(await codeOf(post(ENVELOPE, long))).toEqual([413, 5021]);
    expect(await codeOf(post(ENVELOPE, { ...asked, extra: 1 }))).toEqual([422, 5012]);
    expect(await codeOf(post("/wai/v1/elsewhere", asked))).toEqual([400, 7000]);
    const headers = { authorization: "Bearer invalid" };
    const call = { body: { model: "m", ...asked }, headers };
    expect(await codeOf(callHost(simulator.url + ENVELOPE, call))).toEqual([401, 10_000]);
  });
});

describe("gliner", () => {
  const text = "Ada works for Acme in Berlin and is happy";
  const schema = {
    entities: ["person", "place"],
    classifications: [{ task: "mood", labels: ["happy", "sad"] }],
    structures: { job: { fields: [{ name: "employer" }, { name: "tags", dtype: "list" }] } },
    relations: { works_for: "who works for whom" },
  };

  test("answers flat, with words of the text", async () => {
    const answer = (await post(GLINER, { text, schema })).json();
    const word = expect.stringMatching(/^\w+$/);
    expect(answer).toEqual({
      result: {
        entities: { person: [word], place: [word] },
        mood: "happy",
        job: [{ employer: word, tags: [word] }],
        relation_extraction: { works_for: [[word, word]] },
      },
      token_usage: expect.any(Number),
    });
  });

  test("shows confidences and places when it is asked to", async () => {
    const shown = { text, schema, include_confidence: true, include_spans: true };
    const { result } = (await post(GLINER, shown)).json() as {
      result: { entities: { person: { text: string; start: number; end: number }[] } };
    };
    const [person] = result.entities.person;
    expect(text.slice(person?.start, person?.end)).toBe(person?.text);
    expect(result).toMatchObject({ mood: { label: "happy", confidence: expect.any(Number) } });
  });

  test.each([
    [{ text, schema, questions: {} }, "questions: extra"],
    [{ text, schema: { things: ["a"] } }, "schema.things"],
    [{ text, schema: {} }, "nothing to do"],
    [{ schema }, "text"],
    [{ text, schema, threshold: 2 }, "threshold"],
    [{ text, schema: { classifications: { mood: ["a", "b"] } } }, "expected a list"],
    [{ text, schema: { classifications: [{ task: "mood", labels: ["a"] }] } }, "at least 2"],
    [{ text, schema: { ...schema, structures: { mood: { fields: [{ name: "x" }] } } } }, "mood"],
  ])("the public form refuses %j", async (body, message) => {
    const answer = await post(GLINER, body);
    expect(answer.status).toBe(422);
    expect(answer.json()["detail"]).toContain(message);
  });

  test("the marketplace's grammar is read as it was sent", async () => {
    const questions = {
      mood: { type: "classification", labels: ["happy", "sad"] },
      good: { kind: "boolean" },
      people: { type: "entities", labels: ["person"] },
    };
    const { result } = (await post("/gli/v1/as_sent", { state: text, questions })).json();
    expect(result).toMatchObject({
      mood: "happy",
      good: expect.stringMatching(/^(yes|no)$/),
      people: { person: [expect.any(String)] },
    });
    const native = await post("/gli/v1/as_sent", { text, schema });
    expect(native.json()["result"]).toHaveProperty("relation_extraction");
  });
});

describe("faults", () => {
  test("an answer is missing, or it has no question", async () => {
    const idsOf = async (fault: string) =>
      Object.keys((await ask(PLAIN, fault)).json()["answers"] as object);
    expect(await idsOf("missing_answer")).toEqual(["team", "anger"]);
    expect(await idsOf("missing_answer:team")).toEqual(["urgent", "anger"]);
    expect(await idsOf("extra_answer")).toEqual(["urgent", "team", "anger", "nobody_asked"]);
  });

  test("answers and usage are as they are scripted", async () => {
    const fault =
      'answers:{"urgent":{"type":"noul","noul":0.5}};usage:{"input_tokens":9,"input_tokens_details":{"cached_tokens":4}}';
    expect((await ask(PLAIN, fault)).json()).toMatchObject({
      answers: { urgent: { noul: 0.5 }, team: { type: "choice" } },
      usage: { input_tokens: 9, output_tokens: 30, input_tokens_details: { cached_tokens: 4 } },
    });
    const gliner = { text: "t", schema: { entities: ["a"] } };
    expect((await post(GLINER, gliner, 'usage:{"token_usage":7}')).json()["token_usage"]).toBe(7);
    expect((await post(GLINER, gliner, "no_usage")).json()).not.toHaveProperty("token_usage");
    expect((await ask(PLAIN, "no_usage")).json()).not.toHaveProperty("usage");
  });

  test.each([[408], [413], [422], [425], [504]])("status %i, as a page too", async (status) => {
    expect((await ask(PER_QUESTION, `status:${status}`)).status).toBe(status);
    const page = await ask(PER_QUESTION, `status:${status};body:html`);
    expect(page.status).toBe(status);
    expect(page.headers["content-type"]).toBe("text/html");
  });

  test.each([
    ["a text state", { state: "x [[fault:status:418]]", questions: { urgent } }],
    ["deep in the state", { state: { a: ["[[fault:status:418]]"] }, questions: { urgent } }],
    [
      "a question",
      { state: "x", questions: { a: { ...urgent, instructions: "[[fault:status:418]]" } } },
    ],
  ])("a marker in %s chooses the fault", async (_place, body) => {
    expect((await post(PLAIN, body)).status).toBe(418);
  });

  test("each call is counted, a refused one too", async () => {
    await ask(PLAIN);
    await ask("/sys-b/v1/systemone", "status:503");
    await post(PLAIN, {});
    expect(simulator.counts()).toMatchObject({
      total: 3,
      paths: { [PLAIN]: 2, "/sys-b/v1/systemone": 1 },
    });
  });
});
