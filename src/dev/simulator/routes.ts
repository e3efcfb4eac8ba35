import { textOf } from "../../kernel/index.ts";
import { answerDecisions, answerNoRoute } from "./decisions/answer-decisions.ts";
import {
  envelopeHost,
  glinerHost,
  perQuestionHost,
  plainHost,
  type DecisionHost,
} from "./decisions/decision-host.ts";
import type { Dialect } from "./dialect.ts";
import { chatDialect, messagesDialect } from "./dialects.ts";
import { markedText } from "./fault-board.ts";
import { answerGeneration, answerModels, answerTokenCount } from "./generation.ts";
import { answerImages } from "./images/answer-images.ts";
import { plainImages, referenceImages, relayImages, type ImageHost } from "./images/image-host.ts";
import type { Route } from "./received-call.ts";
import { answerVideoCreate, answerVideoDelete, answerVideoPoll } from "./videos/answer-videos.ts";
import { answerVideoFile } from "./videos/video-content.ts";
import { plainVideos, referenceVideos, relayVideos, type VideoHost } from "./videos/video-host.ts";

type Row = readonly [pattern: RegExp, route: Route];

/** `versioned` is true if the client sent the version header of the messages wire. */
export function findRoute(method: string, path: string, versioned: boolean): Route | undefined {
  const route = ROWS.find(([pattern, each]) => each.method === method && pattern.test(path))?.[1];
  // Both chat wires list models at the same path. Only clients of the messages wire send a version.
  return route === chatModels && versioned ? messagesModels : route;
}

function chatRoute(dialect: Dialect, wire: string): Route {
  return {
    method: "POST",
    wire,
    kind: "generation",
    requestIdHeader: dialect.requestIdHeader,
    faultText: (body) => dialect.read(body).userText,
    answer: (call) => answerGeneration({ ...call, dialect: call.speak(dialect, wire, call.path) }),
  };
}

const chat = chatRoute(chatDialect, "wire_a");
const messages = chatRoute(messagesDialect, "wire_b");
const counting: Route = {
  ...messages,
  kind: "free",
  answer: (call) => answerTokenCount({ ...call, dialect: messagesDialect }),
};

function modelsRoute(route: Route, dialect: Dialect): Route {
  const answer: Route["answer"] = (call) => answerModels({ ...call, dialect });
  return { ...route, method: "GET", kind: "free", answer };
}

const chatModels = modelsRoute(chat, chatDialect);
const messagesModels = modelsRoute(messages, messagesDialect);

const media = {
  method: "POST",
  wire: "wire_a",
  kind: "generation",
  requestIdHeader: "x-request-id",
  faultText: (body) => textOf(body["prompt"]),
} satisfies Partial<Route>;

const noRoute: Route = { ...media, answer: answerNoRoute };

/* The first path segment chooses the provider that the simulator imitates for this call. */
const ROWS: readonly Row[] = [
  ...imageRows("img", referenceImages),
  ...imageRows("imgor", relayImages),
  ...imageRows("imgx", plainImages),
  ...videoRows("vid", referenceVideos),
  ...videoRows("vidor", relayVideos),
  ...videoRows("vidx", plainVideos),
  decisionRow("sys", "systemone", plainHost("public")),
  decisionRow("sys", "as_sent", plainHost("as_sent")),
  decisionRow("pplx", "decisions", perQuestionHost("public")),
  decisionRow("pplx", "as_sent", perQuestionHost("as_sent")),
  decisionRow("wai", "run(?:/[\\w./-]+)?", envelopeHost("public")),
  decisionRow("wai", "as_sent", envelopeHost("as_sent")),
  decisionRow("gli", "gliner-2", glinerHost("public")),
  decisionRow("gli", "as_sent", glinerHost("as_sent")),
  [/^\/wai(?:-[\w.-]+)?\/v1\//, noRoute],
  [/^(?:\/[\w.-]+)?\/v1\/chat\/completions$/, chat],
  [/^(?:\/[\w.-]+)?\/v1\/messages$/, messages],
  [/^(?:\/[\w.-]+)?\/v1\/messages\/count_tokens$/, counting],
  [/^(?:\/[\w.-]+)?\/v1\/models$/, chatModels],
];

function at(kind: string, path: string): RegExp {
  return new RegExp(`^/${kind}(?:-[\\w.-]+)?/v1/${path}$`);
}

function imageRows(kind: string, host: ImageHost): readonly Row[] {
  const route: Route = { ...media, answer: (call) => answerImages(host, call) };
  return [[at(kind, "images(?:/generations)?"), route]];
}

function videoRows(kind: string, host: VideoHost): readonly Row[] {
  const job = { ...media, method: "GET", kind: "job" } as const;
  const poll: Route = {
    ...job,
    ownFault: ({ plan, counts }) =>
      counts.polls < (plan.poll_times ?? Number.POSITIVE_INFINITY) ? plan.poll : undefined,
    answer: (call) => answerVideoPoll(host, call),
  };
  const content: Route = {
    ...job,
    ownFault: ({ plan }) => plan.content,
    answer: (call) => answerVideoFile(host, call, "contents"),
  };
  const file: Route = { ...job, answer: (call) => answerVideoFile(host, call, "files") };
  return [
    [at(kind, "videos"), { ...media, answer: (call) => answerVideoCreate(host, call) }],
    [at(kind, "videos/[^/]+"), poll],
    [
      at(kind, "videos/[^/]+"),
      { ...job, method: "DELETE", answer: (call) => answerVideoDelete(host, call) },
    ],
    [at(kind, "videos/[^/]+/content"), content],
    [at(kind, "videos/[^/]+/content"), { ...content, method: "HEAD" }],
    [at(kind, "files/[^/]+"), file],
    [at(kind, "files/[^/]+"), { ...file, method: "HEAD" }],
  ];
}

function decisionRow(kind: string, path: string, host: DecisionHost): Row {
  const route: Route = {
    ...media,
    faultText: (body) => markedText(body),
    answer: (call) => answerDecisions(host, call),
  };
  return [at(kind, path), route];
}
