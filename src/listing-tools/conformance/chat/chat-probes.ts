import type { Deployment } from "../../../catalog/index.ts";
import { type ChatQuestion, type QuestionTool, type Wire, wires } from "../../../formats/index.ts";
import { cutInHalf, withMembers } from "../probing/changed-bodies.ts";
import type { Probe } from "../probing/probe.ts";

/** Enough for a short answer, and for a model that thinks before it speaks. */
export const SHORT_ANSWER_TOKENS = 512;

export const SHORT_TEXT = "Reply with the single word lemon and nothing else.";

/** Ordinary English of a known length: what it counts is compared with what it should count. */
export const MEASURED_TEXT =
  "The harbour wakes before the sun. Fishing boats leave one after another, and the gulls follow " +
  "them past the lighthouse until the town is only a line of pale roofs. On the market square the " +
  "first stalls open: bread, apples, wool, and a man who repairs watches under a green umbrella. " +
  "By noon the ferries arrive with letters and visitors, and the narrow streets fill with voices. " +
  "In the evening the boats return, the nets are hung to dry, and a sailor plays an old song on " +
  "the pier while the lamps are lit along the water.";

export const LONG_TEXT =
  "Write about five hundred words on a lighthouse keeper, a storm and a letter that arrives too late.";

/** The word that ends the answer to `stopped`, and that it must not contain. */
export const STOP_WORD = "fourth";

export const WEATHER_TOOL = {
  name: "get_weather",
  description: "Returns the weather of a city.",
  schema: {
    type: "object",
    properties: {
      city: { type: "string" },
      unit: { type: "string", enum: ["celsius", "fahrenheit"] },
    },
    required: ["city", "unit"],
    additionalProperties: false,
  },
  given: { city: "Lisbon", unit: "celsius" },
  result: '{"temperature":21,"sky":"clear"}',
} as const satisfies QuestionTool;

/** The probes of a chat listing, in the wire of its provider unless another is named. */
export const chatProbes = {
  short: (deployment: Deployment, wire = wireOf(deployment)): Probe =>
    probe(
      deployment,
      { name: "short answer", wire },
      { text: SHORT_TEXT, maxTokens: SHORT_ANSWER_TOKENS },
    ),
  shortStream: (deployment: Deployment, wire = wireOf(deployment)): Probe =>
    probe(
      deployment,
      { name: "short stream", wire },
      { text: SHORT_TEXT, maxTokens: SHORT_ANSWER_TOKENS, stream: true },
    ),
  measured: (deployment: Deployment, copies: number, stream = false): Probe =>
    probe(
      deployment,
      {
        name: `measured text, ${copies} ${copies === 1 ? "copy" : "copies"}${stream ? ", stream" : ""}`,
      },
      {
        text: Array.from({ length: copies }, () => MEASURED_TEXT).join(" "),
        maxTokens: 16,
        ...(stream ? { stream: true } : {}),
      },
    ),
  /** An answer of some length, whatever the model is. */
  recited: (deployment: Deployment): Probe =>
    probe(
      deployment,
      { name: "recited text" },
      { text: `Repeat the following text exactly.\n${MEASURED_TEXT}`, maxTokens: 512 },
    ),
  /** A text of the model's own, sent back: `copies` of it. */
  echoed: (deployment: Deployment, text: string, copies: number): Probe =>
    probe(
      deployment,
      { name: `its own text, ${copies} ${copies === 1 ? "copy" : "copies"}` },
      { text: Array.from({ length: copies }, () => text).join("\n"), maxTokens: 16 },
    ),
  long: (deployment: Deployment, maxTokens: number): Probe =>
    probe(
      deployment,
      { name: `long answer, at most ${maxTokens} tokens` },
      { text: LONG_TEXT, maxTokens },
    ),
  stopped: (deployment: Deployment, stream: boolean): Probe =>
    probe(
      deployment,
      { name: stream ? "stop sequence, stream" : "stop sequence" },
      {
        text: `Repeat exactly this line: first second third ${STOP_WORD} fifth sixth`,
        maxTokens: SHORT_ANSWER_TOKENS,
        stop: STOP_WORD,
        ...(stream ? { stream: true } : {}),
      },
    ),
  tool: (deployment: Deployment, stream: boolean, wire = wireOf(deployment)): Probe =>
    probe(
      deployment,
      { name: stream ? "tool call, stream" : "tool call", wire },
      {
        text: "What is the weather in Lisbon in celsius? Use get_weather.",
        maxTokens: SHORT_ANSWER_TOKENS,
        tool: { kind: "forced", of: WEATHER_TOOL },
        ...(stream ? { stream: true } : {}),
      },
    ),
  toolAnswered: (deployment: Deployment): Probe =>
    probe(
      deployment,
      { name: "tool result" },
      {
        text: "What is the weather in Lisbon in celsius? Use get_weather.",
        maxTokens: SHORT_ANSWER_TOKENS,
        tool: { kind: "answered", of: WEATHER_TOOL },
      },
    ),
  tooHot: (deployment: Deployment): Probe => ({
    ...probe(deployment, { name: "temperature 99" }, { text: SHORT_TEXT, maxTokens: 16 }),
    changeBody: (body) => withMembers(body, { temperature: 99 }),
  }),
  notJson: (deployment: Deployment): Probe => ({
    ...probe(deployment, { name: "invalid JSON" }, { text: SHORT_TEXT, maxTokens: 16 }),
    changeBody: cutInHalf,
  }),
  unknownModel: (deployment: Deployment): Probe => ({
    ...probe(deployment, { name: "unknown model" }, { text: SHORT_TEXT, maxTokens: 16 }),
    as: "unknown_model",
  }),
} as const;

/** The other chat wires, on which the same listing is offered through translation. */
export function otherWires(deployment: Deployment): readonly Wire[] {
  return wires.all.filter(
    ({ id, providerQuestions }) => id !== deployment.wire && providerQuestions !== undefined,
  );
}

export function wireOf(deployment: Deployment): Wire {
  return wires.get(deployment.wire);
}

/** The output bound that a probe may ask of this listing. */
export function boundFor({ maxOutputTokens }: Deployment, wanted: number): number {
  return Math.min(wanted, maxOutputTokens ?? wanted);
}

function probe(
  deployment: Deployment,
  asked: { readonly name: string; readonly wire?: Wire },
  question: ChatQuestion,
): Probe {
  const wire = asked.wire ?? wireOf(deployment);
  const isOwn = wire.id === deployment.wire;
  const maxTokens = boundFor(deployment, question.maxTokens);
  return {
    name: isOwn ? asked.name : `${asked.name}, asked on ${wire.id}`,
    wire,
    body: wire.providerQuestions?.writeBody({ ...question, maxTokens }) ?? {},
  };
}
