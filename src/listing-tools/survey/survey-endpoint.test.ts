import { describe, expect, test } from "vitest";

import { systemClock } from "../../kernel/index.ts";
import { listenLocally } from "../../../test/support/local-server.ts";
import {
  chatAnswers,
  llamaCpp,
  lmStudio,
  modelServer,
  ollama,
  type PlayedAnswer,
  type PlayedRequest,
  vllm,
} from "../../../test/support/model-servers.ts";
import {
  DIALECTS,
  loadedContexts,
  surveyEndpoint,
  type SurveyInput,
  type SurveyOutcome,
  tryWires,
} from "./survey-endpoint.ts";

const deps = { clock: systemClock, allowPrivateUpstreams: true };

interface Surveyed {
  readonly outcome: SurveyOutcome;
  readonly seen: readonly PlayedRequest[];
  readonly url: string;
}

/** Surveys a server that gives `answer`. */
async function survey(
  answer: PlayedAnswer,
  input: Partial<SurveyInput> = {},
  allowPrivateUpstreams = true,
): Promise<Surveyed> {
  const seen: PlayedRequest[] = [];
  const server = await listenLocally(modelServer(answer, seen));
  const { url } = server;
  try {
    const asked = { baseUrl: `${url}/v1`, isSelfHosted: true, ...input };
    return { outcome: await surveyEndpoint(asked, { ...deps, allowPrivateUpstreams }), seen, url };
  } finally {
    await server.close();
  }
}

async function surveyAnswer(answer: PlayedAnswer): Promise<object> {
  const { outcome } = await survey(answer);
  if (!outcome.ok) throw new Error(outcome.code);
  return outcome.survey;
}

/** A server whose model list has this body and these headers. */
function listing(body: unknown, headers: Readonly<Record<string, string>> = {}): PlayedAnswer {
  return ({ path }) => (path === "/v1/models" ? { body, headers } : undefined);
}

describe("a survey of an endpoint", () => {
  test("reads the context length of vLLM from max_model_len", async () => {
    const length = { contextLength: 40_960, contextFrom: "max_model_len" };
    const models = [{ upstreamId: "Qwen/Qwen3-8B", ...length }];
    expect(await surveyAnswer(vllm)).toEqual({ kind: "vllm", models, skipped: [] });
  });

  test("reads n_ctx of llama.cpp, not the longer context of the training", async () => {
    const length = { contextLength: 65_536, contextFrom: "n_ctx" };
    expect(await surveyAnswer(llamaCpp)).toMatchObject({
      kind: "llama-cpp",
      models: [{ upstreamId: "qwen3-4b", ...length, readsImages: true, callsTools: true }],
    });
  });

  test("reads num_ctx of Ollama, and skips embedding models and models of another host", async () => {
    const length = { contextLength: 16_384, contextFrom: "num_ctx" };
    expect(await surveyAnswer(ollama)).toMatchObject({
      kind: "ollama",
      models: [
        { upstreamId: "qwen3:8b", ...length, quantization: "Q4_K_M", callsTools: true },
        { upstreamId: "llava:latest", contextLength: 32_768, readsImages: true },
      ],
      skipped: [
        { model: "qwen3:0.6b", code: "id" },
        { model: "nomic-embed-text:latest", code: "not_chat" },
        { model: "gpt-oss:120b-cloud", code: "elsewhere" },
      ],
    });
  });

  test("prefers the loaded context of LM Studio to the longest, and skips embedding models", async () => {
    const longest = { contextLength: 32_768, contextFrom: "max_context_length" };
    const loaded = { contextLength: 8_192, contextFrom: "loaded_context_length" };
    expect(await surveyAnswer(lmStudio)).toMatchObject({
      kind: "lmstudio",
      models: [
        { upstreamId: "qwen2-vl-7b-instruct", ...longest, readsImages: true },
        { upstreamId: "meta-llama-3.1-8b-instruct", ...loaded, quantization: "Q4_K_M" },
      ],
      skipped: [{ model: "text-embedding-nomic-v1.5", code: "not_chat" }],
    });
  });

  test("lists the models of an unknown server without a context length", async () => {
    const models = [{ upstreamId: "m-1" }];
    const found = await surveyAnswer(listing({ object: "list", data: [{ id: "m-1" }] }));
    expect(found).toEqual({ kind: "other", models, skipped: [] });
  });

  test("asks a hosted provider only for its model list", async () => {
    const { seen } = await survey(vllm, { isSelfHosted: false, wireId: DIALECTS[0] ?? "" });
    expect(seen.map(({ path }) => path)).toEqual(["/v1/models"]);
  });
});

describe("a model server", () => {
  /** Tries every wire on a server that gives `answer`. */
  async function tried(answer: PlayedAnswer) {
    const server = await listenLocally(modelServer(answer));
    const asked = { baseUrl: `${server.url}/v1`, upstreamId: "m", wireIds: DIALECTS };
    return await tryWires(asked, deps).finally(() => void server.close());
  }

  test("speaks the wires on which it answers a request for one token", async () => {
    const trials = await tried((request) =>
      request.path === "/v1/chat/completions" ? chatAnswers(request) : undefined,
    );
    expect(trials.map(({ answers, seen }) => [answers, seen])).toEqual([
      [true, "status 200"],
      [false, "status 404"],
    ]);
  });

  test("does not speak a wire on which its answer reports no usage", async () => {
    const trials = await tried((request) => {
      const { usage: _usage, ...body } = (chatAnswers(request)?.body ?? {}) as { usage?: object };
      return { body };
    });
    expect(trials.filter(({ answers }) => answers)).toEqual([]);
    expect(trials[0]?.seen).toMatch(/reports no usage/);
  });

  test("that is Ollama reports the context length of each loaded model", async () => {
    const server = await listenLocally(modelServer(ollama));
    const loaded = await loadedContexts({ baseUrl: `${server.url}/v1` }, deps).finally(
      () => void server.close(),
    );
    expect([...loaded]).toEqual([["qwen3:8b", 4_096]]);
  });
});

describe("a hostile endpoint", () => {
  test("is not asked at a private address, unless the operator allows it", async () => {
    const { outcome, seen } = await survey(vllm, {}, false);
    expect(outcome).toMatchObject({ ok: false, code: "private" });
    expect(seen).toEqual([]);
  });

  test("gets the key on its own origin only: a redirect is not followed", async () => {
    const elsewhere: PlayedRequest[] = [];
    const other = await listenLocally(modelServer(vllm, elsewhere));
    const headers = { location: `${other.url}/v1/models` };
    const moved: PlayedAnswer = () => ({ status: 307, headers, body: {} });
    const { outcome } = await survey(moved, { key: "sk-secret" }).finally(() => void other.close());
    expect(outcome).toMatchObject({ ok: false, code: "no_list" });
    expect(JSON.stringify(outcome)).toMatch(/redirects \(status 307\)/);
    expect(elsewhere).toEqual([]);
  });

  test("that refuses the key is reported as such, and the key is not shown", async () => {
    const { outcome, seen } = await survey(() => ({ status: 401, body: { error: "no" } }), {
      key: "sk-secret",
    });
    expect(outcome).toMatchObject({ ok: false, code: "key_refused" });
    // Each wire has its own header for the key.
    expect(seen.map(({ headers }) => headers["authorization"] ?? headers["x-api-key"])).toEqual([
      "Bearer sk-secret",
      "sk-secret",
    ]);
    expect(JSON.stringify(outcome)).not.toContain("sk-secret");
  });

  test("cannot send control characters to a terminal", async () => {
    const evil = "\u001b[2J\u001b]0;owned\u0007\r\nokay\u202e\u009b31m";
    const { outcome } = await survey(listing({ data: [{ id: evil }, { id: "fine" }] }));
    const text = JSON.stringify(outcome);
    expect(outcome).toMatchObject({ survey: { models: [{ upstreamId: "fine" }] } });
    expect(text).not.toMatch(/\\u00|\\r|\\n|\u202e|\u009b/);
    expect(text).toContain("okay");
  });

  test("cannot fill the memory: a model list over 8 MiB is refused", async () => {
    const data = [{ id: "m", junk: "x".repeat(9 * 1024 * 1024) }];
    const { outcome } = await survey(listing({ data }));
    expect(outcome).toMatchObject({ ok: false, code: "unreachable" });
    expect(JSON.stringify(outcome)).toMatch(/within 15 s and 8 MiB/);
  });

  test("that lists 100,000 models has only the first 2,000 read", async () => {
    const data = Array.from({ length: 100_000 }, (_each, at) => ({ id: `m-${at}` }));
    expect(await surveyAnswer(listing({ data }))).toMatchObject({
      models: { length: 2_000 },
      skipped: [{ model: "98000 models", code: "too_many" }],
    });
  });

  test.each([
    ["a page", "<html>"],
    ["endlessly nested JSON", "[".repeat(200_000)],
  ])("that answers with %s has no model list", async (_what, body) => {
    const { outcome } = await survey(listing(body));
    expect(outcome).toMatchObject({ ok: false, code: "no_list" });
  });

  test.each([0, 1.5, "8192", 1e12])("that claims a context of %s gets none", async (context) => {
    const data = [{ id: "m", owned_by: "vllm", max_model_len: context }];
    const { outcome } = await survey(listing({ data }));
    expect(outcome).toMatchObject({ survey: { models: [{ upstreamId: "m" }] } });
    expect(JSON.stringify(outcome)).not.toContain("contextLength");
  });

  test.each(["http://user:pass@a.example/v1", "a"])(
    "at the invalid address %s is refused",
    async (baseUrl) => {
      const outcome = await surveyEndpoint({ baseUrl, isSelfHosted: true }, deps);
      expect(outcome).toMatchObject({ ok: false, code: "address" });
    },
  );
});
