import type { Deployment } from "../../../catalog/index.ts";
import { type ChatQuestion, type QuestionTool, type Wire, wires } from "../../../formats/index.ts";
import { type Chance, type Probe, type Subject, withMembers } from "../probing/lab.ts";

/** Output bound for a short answer. It leaves room for a model that reasons first. */
export const ANSWER_TOKENS = 2_048;

const SHORT_TEXT = "Reply with the single word lemon and nothing else.";

/** English sentences. Check C4 compares the tokens billed for them with a reference count. */
const SENTENCES = [
  "The harbour wakes before the sun.",
  "Fishing boats leave one after another, and the gulls follow them past the lighthouse until the town is only a line of pale roofs.",
  "On the market square the first stalls open: bread, apples, wool, and a man who repairs watches under a green umbrella.",
  "By noon the ferries arrive with letters and visitors, and the narrow streets fill with voices.",
  "In the evening the boats return, the nets are hung to dry, and a sailor plays an old song on the pier while the lamps are lit along the water.",
  "The baker talks about the old bridge on a rainy day, and a clerk writes down what the captain remembers of two wooden boats.",
  "After the long winter a student measures the quiet garden behind the station, where the morning train stops for a minute.",
];

/** The text that probes of decisions send as their `state`, and whose tokens C4 measures. */
export const MEASURED_TEXT: string = SENTENCES.slice(0, 5).join(" ");

const SENTENCES_OF_COPY = 3;

/**
 * Returns `copies` copies of three sentences, each copy in a random order, so that all copies have
 * the same number of tokens. Each run draws three of six sentences, so the text varies.
 */
export function writeProse(chance: Chance, copies: number): string {
  const chosen = chance.shuffled("sentences", SENTENCES.slice(1)).slice(0, SENTENCES_OF_COPY);
  return Array.from({ length: copies }, (_each, at) =>
    chance.shuffled(`copy ${at}`, chosen).join(" "),
  ).join(" ");
}

export function smallBounds({ chance }: Subject): readonly [number, number] {
  return [chance.whole("smallest bound", 4, 9), chance.whole("small bound", 12, 25)];
}

const COUNTED_NUMBERS = 120;

export function listCountedNumbers({ chance }: Subject, attempt = 1): readonly number[] {
  const first = chance.whole(`count ${attempt}`, 200, 800);
  return Array.from({ length: COUNTED_NUMBERS }, (_each, at) => first + at);
}

const ORDINALS = ["third", "fourth", "fifth"] as const;

/** Stop sequence of the probe `stopped`. The answer must not contain it. */
export function stopWord({ chance }: Subject): string {
  return chance.pick("stop", ORDINALS);
}

const CITIES = ["Lisbon", "Oslo", "Nairobi", "Quito", "Hanoi", "Perth"] as const;

export function chooseCity({ chance }: Subject, stream: boolean, attempt: number): string {
  return chance.shuffled("cities", CITIES)[2 * attempt - (stream ? 1 : 2)] ?? CITIES[0];
}

export const WEATHER_TOOL: QuestionTool = {
  name: "get_weather",
  description: "Returns the weather of a city.",
  schema: {
    type: "object",
    properties: {
      city: { type: "string", enum: CITIES },
      unit: { type: "string", enum: ["celsius", "fahrenheit"] },
    },
    required: ["city", "unit"],
    additionalProperties: false,
  },
  given: { city: "Lisbon", unit: "celsius" },
};

const TIME_TOOL: QuestionTool = {
  name: "get_time",
  description: "Returns the time in a city.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  given: { city: "Lisbon" },
};

export const FORMAT_SCHEMA = {
  type: "object",
  properties: { boats: { type: "integer" }, harbour: { type: "string" } },
  required: ["boats", "harbour"],
  additionalProperties: false,
} as const;

const ALPHABETS_LINE = [
  "κήπος θάλασσα γέφυρα",
  "берёза облако корабль",
  "山谷 月亮 河流",
  "قمر بحر حديقة",
  "नदी पहाड़ बगीचा",
  "🍋🌉⛵",
];

const RECITED = {
  english: (chance: Chance): string => writeProse(chance, 1),
  alphabets: (chance: Chance): string => chance.shuffled("alphabets", ALPHABETS_LINE).join(" "),
} as const;

const BOTH_TEXT = "What are the weather and the time in Lisbon? Use both get_weather and get_time.";

/** About ten tokens. C4 allows these (`FRAMED_SYSTEM_TOKENS`) besides the chat template. */
const FRAMED_SYSTEM = "You are a reader of short texts.";

/** Maximum output bound of all probes; a listing's own maximum is used instead if it is smaller. */
export const LARGE_BOUND = 4_096;

/** A question whose answer may have `ANSWER_TOKENS` tokens unless it states another bound. */
type AskedChat = Omit<ChatQuestion, "maxTokens"> & Partial<Pick<ChatQuestion, "maxTokens">>;

/** Builders of chat probes. Each uses the provider's own wire unless the caller gives another. */
export const chatProbes = {
  short: (deployment: Deployment, wire = findWire(deployment), stream = false): Probe =>
    probe(
      deployment,
      { name: stream ? "short stream" : "short answer", wire },
      { text: SHORT_TEXT, stream },
    ),
  shortStream: (deployment: Deployment, wire = findWire(deployment)): Probe =>
    chatProbes.short(deployment, wire, true),
  measured: (
    subject: Subject,
    copies: number,
    how: "" | ", stream" | ", again" | ", larger bound" = "",
    maxTokens: number = smallBounds(subject)[1],
  ): Probe =>
    chatProbe(subject, `measured text, ${countCopies(copies)}${how}`, {
      text: writeProse(subject.chance, copies),
      maxTokens,
      stream: how === ", stream",
    }),
  /** Sends a system message, so that the model's chat template does not add its own. */
  framed: (subject: Subject, maxTokens: number = smallBounds(subject)[1]): Probe =>
    chatProbe(subject, "measured text, system message", {
      system: FRAMED_SYSTEM,
      text: writeProse(subject.chance, 1),
      maxTokens,
    }),
  /** Asks the model to repeat a text, so that the length of the answer is known. */
  recited: (subject: Subject, what: keyof typeof RECITED, stream: boolean): Probe =>
    chatProbe(subject, `recited text, ${what}${stream ? ", stream" : ""}`, {
      // Only `alphabets` has a system message, and tools if the listing declares them.
      ...(what === "alphabets" && besideText(subject)),
      text: `Repeat the following text exactly.\n${RECITED[what](subject.chance)}`,
      stream,
    }),
  /** Sends `copies` copies of `text`, an earlier answer of the model, back to the model. */
  echoed: (
    subject: Subject,
    text: string,
    { what, copies }: { readonly what: string; readonly copies: number },
  ): Probe =>
    chatProbe(subject, `its own text, ${what}, ${countCopies(copies)}`, {
      text: Array.from({ length: copies }, () => text).join("\n"),
      maxTokens: subject.chance.whole(`echo ${what} ${copies}`, 26, 61),
    }),
  long: (subject: Subject, maxTokens: number, stream = false, attempt = 1): Probe => {
    const numbers = listCountedNumbers(subject, attempt);
    const text = `Count from ${numbers[0]} to ${numbers.at(-1)} without leaving a number out. Write the numbers alone, with a space between them.`;
    const name = `long answer, at most ${maxTokens} tokens${stream ? ", stream" : ""}${attempt > 1 ? ", again" : ""}`;
    return chatProbe(subject, name, { text, maxTokens, stream });
  },
  /** A long answer exposes a real output bound that is smaller than the listed one. */
  story: (subject: Subject, stream: boolean): Probe =>
    chatProbe(subject, `a story${stream ? ", stream" : ""}`, {
      text: "Write a story of about six hundred words about a night in a harbour.",
      maxTokens: LARGE_BOUND,
      stream,
    }),
  /** If `isSecond`, the request has two stop sequences, and the answer should reach the second. */
  stopped: (subject: Subject, stream: boolean, isSecond: boolean): Probe => {
    const word = stopWord(subject);
    const name = `stop sequence${isSecond ? ", the second" : ""}${stream ? ", stream" : ""}`;
    return chatProbe(subject, name, {
      // Long text follows the stop word, so that C4 notices billing beyond the stop.
      text: `Repeat exactly this line: first second third fourth fifth sixth ${writeProse(subject.chance, 1)}`,
      stops: isSecond ? ["seventh", word] : [word],
      stream,
    });
  },
  tool: (
    subject: Subject,
    stream: boolean,
    { wire = findWire(subject.deployment), attempt = 1 }: { wire?: Wire; attempt?: number } = {},
  ): Probe =>
    probe(
      subject.deployment,
      { name: `tool call${stream ? ", stream" : ""}${attempt > 1 ? ", again" : ""}`, wire },
      {
        text: `What is the weather in ${chooseCity(subject, stream, attempt)} in celsius? Use get_weather.`,
        tools: { of: [TIME_TOOL, WEATHER_TOOL], choice: { name: WEATHER_TOOL.name } },
        stream,
      },
    ),
  /** The text suggests the opposite of `choice`, so only a provider that obeys `choice` passes. */
  toolChoice: (subject: Subject, choice: "none" | "required", stream: boolean): Probe =>
    chatProbe(subject, `tool choice ${choice}${stream ? ", stream" : ""}`, {
      text:
        choice === "none"
          ? "What is the weather in Lisbon in celsius? Use get_weather."
          : "Good morning. How are you?",
      tools: { of: [WEATHER_TOOL, TIME_TOOL], choice },
      stream,
    }),
  singleCall: (subject: Subject, stream: boolean): Probe =>
    chatProbe(subject, `one call at most${stream ? ", stream" : ""}`, {
      text: BOTH_TEXT,
      tools: { of: [WEATHER_TOOL, TIME_TOOL], isSingle: true },
      stream,
    }),
  bothCalls: (subject: Subject, stream: boolean): Probe =>
    chatProbe(subject, `two calls${stream ? ", stream" : ""}`, {
      text: BOTH_TEXT,
      tools: { of: [WEATHER_TOOL, TIME_TOOL] },
      stream,
    }),
  formatted: (subject: Subject, stream: boolean): Probe =>
    chatProbe(subject, `answer as JSON${stream ? ", stream" : ""}`, {
      text: "Describe a harbour as JSON: boats is how many there are, harbour is its name.",
      schema: FORMAT_SCHEMA,
      stream,
    }),
  /** A request for at most 16 tokens, from which requests that should be refused are made. */
  bounded: (deployment: Deployment, stream = false): Probe =>
    probe(deployment, { name: "" }, { text: SHORT_TEXT, maxTokens: 16, stream }),
  tooHot: (deployment: Deployment): Probe => ({
    ...chatProbes.bounded(deployment),
    name: "temperature 99",
    changeBody: (body) => withMembers(body, { temperature: 99 }),
  }),
} as const;

function countCopies(copies: number): string {
  return copies === 1 ? "1 copy" : `${copies} copies`;
}

function besideText({ deployment }: Subject): Partial<ChatQuestion> {
  const { supportedParameters } = deployment;
  const mayForbid = supportedParameters.has("tool_choice");
  return {
    system: "You repeat texts exactly.",
    ...(supportedParameters.has("tools") && {
      tools: { of: [TIME_TOOL], ...(mayForbid && { choice: "none" as const }) },
    }),
  };
}

/** Builds a probe on the provider's own wire. `more` are further fields of the body. */
export function chatProbe(
  { deployment }: Subject,
  name: string,
  question: AskedChat,
  more: Readonly<Record<string, unknown>> = coldest(deployment),
): Probe {
  const made = probe(deployment, { name }, question);
  return { ...made, body: { ...made.body, ...more } };
}

export function coldest({ supportedParameters }: Deployment): { readonly temperature?: 0 } {
  const temperature = supportedParameters.get("temperature");
  return temperature?.type === "range" && temperature.min <= 0 ? { temperature: 0 } : {};
}

/** The wires other than the listing's own, to which the gateway can translate the listing. */
export function otherWires(deployment: Deployment): readonly Wire[] {
  return wires.all.filter(
    ({ id, providerQuestions }) => id !== deployment.wire && providerQuestions !== undefined,
  );
}

export function findWire(deployment: Deployment): Wire {
  return wires.get(deployment.wire);
}

export function boundFor({ maxOutputTokens }: Deployment, wanted: number): number {
  return Math.min(wanted, maxOutputTokens ?? wanted);
}

function probe(
  deployment: Deployment,
  asked: { readonly name: string; readonly wire?: Wire },
  question: AskedChat,
): Probe {
  const wire = asked.wire ?? findWire(deployment);
  const isOwn = wire.id === deployment.wire;
  const maxTokens = boundFor(deployment, question.maxTokens ?? ANSWER_TOKENS);
  return {
    name: isOwn ? asked.name : `${asked.name}, asked on ${wire.id}`,
    wire,
    body: wire.providerQuestions?.writeBody({ ...question, maxTokens }) ?? {},
  };
}
