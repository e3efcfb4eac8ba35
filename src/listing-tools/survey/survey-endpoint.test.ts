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

/** A server whose model list has this body and these headers. */
function listing(body: unknown, headers: Readonly<Record<string, string>> = {}): PlayedAnswer {
  return ({ path }) => (path === "/v1/models" ? { body, headers } : undefined);
}

describe("a server program says of its models", () => {
  test("vLLM: the context that it was started with", async () => {
    const { outcome } = await survey(vllm);
    expect(outcome).toEqual({
      ok: true,
      survey: {
        kind: "vllm",
        models: [
          { upstreamId: "Qwen/Qwen3-8B", contextLength: 40_960, contextFrom: "max_model_len" },
        ],
        skipped: [],
      },
    });
  });

  test("llama.cpp: the context of a request, not the longer one of the training", async () => {
    const { outcome } = await survey(llamaCpp);
    expect(outcome).toMatchObject({
      survey: {
        kind: "llama-cpp",
        models: [
          {
            upstreamId: "qwen3-4b",
            contextLength: 65_536,
            contextFrom: "n_ctx",
            readsImages: true,
            callsTools: true,
          },
        ],
      },
    });
  });

  test("Ollama: num_ctx where it is set, no embeddings, nothing that another host serves", async () => {
    const { outcome } = await survey(ollama);
    expect(outcome).toMatchObject({
      survey: {
        kind: "ollama",
        models: [
          {
            upstreamId: "qwen3:8b",
            contextLength: 16_384,
            contextFrom: "num_ctx",
            quantization: "Q4_K_M",
            callsTools: true,
          },
          { upstreamId: "llava:latest", contextLength: 32_768, readsImages: true },
        ],
        skipped: [
          { model: "qwen3:0.6b", code: "id" },
          { model: "nomic-embed-text:latest", code: "not_chat" },
          { model: "gpt-oss:120b-cloud", code: "elsewhere" },
        ],
      },
    });
  });

  test("LM Studio: the loaded context before the longest, and no embeddings", async () => {
    const { outcome } = await survey(lmStudio);
    expect(outcome).toMatchObject({
      survey: {
        kind: "lmstudio",
        models: [
          {
            upstreamId: "qwen2-vl-7b-instruct",
            contextLength: 32_768,
            contextFrom: "max_context_length",
            readsImages: true,
          },
          {
            upstreamId: "meta-llama-3.1-8b-instruct",
            contextLength: 8_192,
            contextFrom: "loaded_context_length",
            quantization: "Q4_K_M",
          },
        ],
        skipped: [{ model: "text-embedding-nomic-v1.5", code: "not_chat" }],
      },
    });
  });

  test("any other: the models, and nothing that it does not say", async () => {
    const { outcome } = await survey(listing({ object: "list", data: [{ id: "m-1" }] }));
    expect(outcome).toEqual({
      ok: true,
      survey: { kind: "other", models: [{ upstreamId: "m-1" }], skipped: [] },
    });
  });

  test("a hosted provider is asked for its list and nothing else", async () => {
    const { seen } = await survey(vllm, { isSelfHosted: false, wireId: DIALECTS[0] ?? "" });
    expect(seen.map(({ path }) => path)).toEqual(["/v1/models"]);
  });
});

describe("one token on each wire", () => {
  /** Tries every wire on a server that gives `answer`. */
  async function tried(answer: PlayedAnswer) {
    const server = await listenLocally(modelServer(answer));
    const asked = { baseUrl: `${server.url}/v1`, upstreamId: "m", wireIds: DIALECTS };
    return await tryWires(asked, deps).finally(() => void server.close());
  }

  test("shows which of them a server speaks", async () => {
    const trials = await tried((request) =>
      request.path === "/v1/chat/completions" ? chatAnswers(request) : undefined,
    );
    expect(trials.map(({ answers, seen }) => [answers, seen])).toEqual([
      [true, "status 200"],
      [false, "status 404"],
    ]);
  });

  test("an answer without usage is none: nothing could be billed", async () => {
    const trials = await tried((request) => {
      const { usage: _usage, ...body } = (chatAnswers(request)?.body ?? {}) as { usage?: object };
      return { body };
    });
    expect(trials.filter(({ answers }) => answers)).toEqual([]);
    expect(trials[0]?.seen).toMatch(/reports no usage/);
  });

  test("Ollama says what it has loaded the model with", async () => {
    const server = await listenLocally(modelServer(ollama));
    const loaded = await loadedContexts({ baseUrl: `${server.url}/v1` }, deps).finally(
      () => void server.close(),
    );
    expect([...loaded]).toEqual([["qwen3:8b", 4_096]]);
  });
});

describe("an endpoint that means no good", () => {
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

  test("is not taken for one that refuses the key", async () => {
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

  test("sends no terminal anything that it would obey", async () => {
    const evil = "\u001b[2J\u001b]0;owned\u0007\r\nokay\u202e\u009b31m";
    const { outcome } = await survey(listing({ data: [{ id: evil }, { id: "fine" }] }));
    const text = JSON.stringify(outcome);
    expect(outcome).toMatchObject({ survey: { models: [{ upstreamId: "fine" }] } });
    expect(text).not.toMatch(/\\u00|\\r|\\n|\u202e|\u009b/);
    expect(text).toContain("okay");
  });

  test("does not fill the memory: a list that is too long is none", async () => {
    const data = [{ id: "m", junk: "x".repeat(9 * 1024 * 1024) }];
    const { outcome } = await survey(listing({ data }));
    expect(outcome).toMatchObject({ ok: false, code: "unreachable" });
    expect(JSON.stringify(outcome)).toMatch(/within 15 s and 8 MiB/);
  });

  test("lists 100,000 models in vain: only the first 2,000 are read", async () => {
    const data = Array.from({ length: 100_000 }, (_each, at) => ({ id: `m-${at}` }));
    const { outcome } = await survey(listing({ data }));
    const { models = [], skipped = [] } = outcome.ok ? outcome.survey : {};
    expect(models).toHaveLength(2_000);
    expect(skipped).toMatchObject([{ model: "98000 models", code: "too_many" }]);
  });

  test.each([
    ["no JSON", "<html>"],
    ["JSON that is nested without an end", "[".repeat(200_000)],
  ])("with %s has no list", async (_what, body) => {
    const { outcome } = await survey(listing(body));
    expect(outcome).toMatchObject({ ok: false, code: "no_list" });
  });

  test.each([0, 1.5, "8192", 1e12])("claims a context of %s, which is none", async (context) => {
    const data = [{ id: "m", owned_by: "vllm", max_model_len: context }];
    const { outcome } = await survey(listing({ data }));
    expect(outcome).toMatchObject({ survey: { models: [{ upstreamId: "m" }] } });
    expect(JSON.stringify(outcome)).not.toContain("contextLength");
  });

  test.each(["http://user:pass@a.example/v1", "a"])(
    "%s is no address of an endpoint",
    async (baseUrl) => {
      const outcome = await surveyEndpoint({ baseUrl, isSelfHosted: true }, deps);
      expect(outcome).toMatchObject({ ok: false, code: "address" });
    },
  );
});
