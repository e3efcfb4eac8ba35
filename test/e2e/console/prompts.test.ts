import { Redis } from "ioredis";
import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { decisionManifest, decisionModel } from "../../support/decisions.ts";
import { STANDARD_MANIFESTS } from "../../support/gateway.ts";
import { bearer, httpCall, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { imageManifest, imageModel } from "../../support/image-models.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { redisProgram, startRedis } from "../../support/redis.ts";
import { VideoHost, videoManifest, videoModel } from "../../support/video-host.ts";
import { everyStoredText } from "./every-stored-text.ts";
import {
  newcomer,
  newKey,
  openProviderFixture,
  runSearch,
  type Person,
  type ProviderFixture,
} from "./provider-fixture.ts";

/** Words that must not be stored: one in prompts and answers, one in a provider's error. */
const WORD = "CanaryOfThePrompt7391";
const FAULT = "CanaryOfTheProvider7391";

/** The forms in which a word may be stored; the database shows bytes as hexadecimal digits. */
function formsOf(word: string): readonly string[] {
  const base64 = [0, 1, 2].map((shift) =>
    // The first and last characters depend on the neighbouring bytes and are cut off.
    Buffer.from("x".repeat(shift) + word)
      .toString("base64")
      .slice(4, -4),
  );
  return [word, Buffer.from(word).toString("hex"), ...base64];
}

/** Places in which either word is found, in any of its forms. */
function found(places: Readonly<Record<string, string>>): readonly string[] {
  const forms = [WORD, FAULT].flatMap(formsOf);
  return Object.entries(places)
    .filter(([, text]) => forms.some((form) => text.toLowerCase().includes(form.toLowerCase())))
    .map(([place]) => place);
}

/** Every key of the server and what it holds, as text. */
async function everyRedisText(url: string): Promise<string> {
  const client = new Redis(url);
  try {
    const texts: string[] = [];
    for (const key of await client.keys("*")) {
      const kind = await client.type(key);
      const value =
        kind === "hash"
          ? await client.hgetall(key)
          : kind === "zset"
            ? await client.zrange(key, "0", "-1")
            : kind === "string"
              ? await client.get(key)
              : await client.dump(key);
      texts.push(`${key} ${JSON.stringify(value)}`);
    }
    return texts.join("\n");
  } finally {
    client.disconnect();
  }
}

const messages = (text: string): object[] => [{ role: "user", content: text }];

/** Chat bodies with the word in every place that a client may write into. */
function chatBodies(model: string): readonly object[] {
  const tool = { name: WORD, description: WORD, parameters: { type: "object", title: WORD } };
  const called = {
    id: "c1",
    type: "function",
    function: { name: WORD, arguments: `{"a":"${WORD}"}` },
  };
  return [
    { model, max_tokens: 16, messages: messages(WORD) },
    { model, max_tokens: 16, stream: true, messages: messages(WORD), user: WORD },
    {
      model,
      max_tokens: 16,
      messages: [
        { role: "system", content: WORD },
        { role: "user", content: WORD },
        { role: "assistant", content: null, tool_calls: [called] },
        { role: "tool", tool_call_id: "c1", content: WORD },
      ],
      tools: [{ type: "function", function: tool }],
      stop: [WORD],
      [WORD]: WORD,
    },
  ];
}

const FAULTS = [
  "status:400",
  "status:500",
  "status:429",
  "error_in_200",
  "error_event_first",
  "error_at_event:2",
  "bad_json",
  `content_filter`,
  "context_overflow",
] as const;

test("a word of a prompt is in no table, Redis key, log line, span or metric", async () => {
  const receiver = await startOtlpReceiver();
  const redis = redisProgram === undefined ? undefined : await startRedis();
  const films = await VideoHost.start();
  const fixture = await openProviderFixture({
    settings: {
      logLevel: "trace",
      optimizeCallGapMs: 0,
      telemetryEndpoint: receiver.url,
      telemetrySamplePerMillion: 1_000_000,
      telemetryKeptPerSecond: 1_000,
      telemetryPropagate: "*",
      ...(redis === undefined ? {} : { redisUrl: redis.url }),
    },
    manifests: [
      ...STANDARD_MANIFESTS,
      imageManifest({
        provider: "painter",
        baseUrl: "{simulator}/img/v1",
        models: [imageModel("pic/one")],
      }),
      decisionManifest({ provider: "judge", host: "sys", models: [decisionModel("test/judge")] }),
      videoManifest({ provider: "films", url: films.url, models: [videoModel("test/video")] }),
    ],
  });
  try {
    const person = await fixture.signIn(newcomer("ann"));
    await fixture.grant(person, "50");
    const { secret } = await newKey(person);
    const statuses = await callEverything(fixture, secret);
    await playAndSearch(person);
    const { gateway } = fixture;
    const traces = (): number => receiver.spans.filter(({ kind }) => kind === 2).length;
    await until("the traces have arrived", () => Promise.resolve(traces() > statuses.length));
    const metrics = await httpCall(`${gateway.running.internalUrl}/metrics`);
    const places = {
      database: await everyStoredText(gateway.config.databaseUrl),
      log: gateway.log(),
      metrics: metrics.text,
      spans: `${receiver.text()} ${JSON.stringify(receiver.headers)}`,
      redis: redis === undefined ? "skipped" : await everyRedisText(redis.url),
    };
    // The calls have left rows and lines in the places that are searched.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(10);
    expect(statuses.filter((status) => status >= 400).length).toBeGreaterThan(10);
    expect(places.database).toContain("ann@example.com");
    expect(places.database).toContain("pic/one");
    expect(places.log).toContain("/v1/messages");
    expect(places.metrics).toContain("test/both");
    expect(places.spans).toContain("chat test/both");
    expect(found({ received: JSON.stringify(gateway.simulator.calls()) })).toEqual(["received"]);
    expect(found(places)).toEqual([]);
  } finally {
    await fixture.close();
    await films.close();
    await redis?.close();
    await receiver.close();
  }
});

/** Calls every route of the gateway, successfully and with faults; returns the statuses. */
async function callEverything(fixture: ProviderFixture, key: string): Promise<readonly number[]> {
  const { url } = fixture.gateway;
  const statuses: number[] = [];
  const call = async (path: string, body?: object | string): Promise<HttpAnswer> => {
    const answer = await httpCall(url + path, { headers: bearer(key), body });
    statuses.push(answer.status);
    return answer;
  };
  const chats = ["/v1/chat/completions", "/v1/messages"];
  for (const model of ["test/a", "test/b", "test/both"]) {
    for (const path of chats) {
      for (const body of chatBodies(model)) await call(path, body);
      for (const fault of FAULTS) {
        const text = `[[fault:${fault};message:${FAULT}]] ${WORD}`;
        const stream = fault.includes("event");
        await call(path, { model, max_tokens: 16, stream, messages: messages(text) });
      }
      await call(path, `{"model": "${model}", "messages": ["${WORD}", `);
    }
  }
  const image = { model: "pic/one", prompt: WORD };
  for (const path of ["/v1/images/generations", "/images/generations"]) await call(path, image);
  const state = { model: "test/judge", state: WORD };
  const urgent = { schema: { type: "boolean" }, instructions: WORD };
  await call("/v1/decisions", { ...state, questions: { urgent } });
  const video = await call("/v1/videos", { model: "test/video", prompt: WORD });
  const id = textAt(video.json, "id");
  for (const path of [`/v1/videos/${id}`, `/v1/videos/${id}/content`]) await call(path);
  await call("/v1/messages/count_tokens", { model: "test/b", messages: messages(WORD) });
  for (const kind of ["chat", "messages", "images", "videos", "decisions"]) {
    await call(`/v1/route?for=${kind}`, {
      model: "test/a",
      prompt: WORD,
      messages: messages(WORD),
    });
  }
  await call("/api/admission-limits", { [WORD]: WORD });
  for (const path of ["/v1/models", "/v1/models/test%2Fa", "/v1/usage", "/v1/limits"]) {
    await call(`${path}?q=${WORD}`);
  }
  await call(`/v1/generation?id=${WORD}`);
  await call(`/v1/${WORD}`, { text: WORD });
  return statuses;
}

async function playAndSearch(person: Person): Promise<void> {
  const [body = {}] = chatBodies("test/a");
  const fault = { ...body, messages: messages(`[[fault:status:500;message:${FAULT}]] ${WORD}`) };
  await person.ask("POST /playground/v1/chat/completions", { body });
  await person.ask("POST /playground/v1/chat/completions", { body: fault });
  const prompts = [WORD, `${WORD} [[fault:status:500;message:${FAULT}]]`, "three"];
  await runSearch(person, { prompts });
}
