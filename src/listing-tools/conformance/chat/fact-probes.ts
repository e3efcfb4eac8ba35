import type { CapabilityDescriptor, Deployment } from "../../../catalog/index.ts";
import type { ChatQuestion, QuestionTool } from "../../../formats/index.ts";
import type { Chance, Probe, Subject } from "../probing/lab.ts";
import { ANSWER_TOKENS, chatProbe, writeProse, WEATHER_TOOL } from "./chat-probes.ts";

export interface Fact {
  readonly place: string;
  readonly of: string;
  readonly value: string;
}

/** States facts and asks for them. C4 computes from its counts the tokens that may be billed. */
export interface FactProbe extends Probe {
  readonly facts: readonly Fact[];
  /** Number of facts whose value is words in another alphabet, not a number. */
  readonly otherFacts: number;
  readonly hasTools: boolean;
  readonly hasSystem: boolean;
  /** Number of short earlier turns, which contain no copy of the measured text. */
  readonly turns: number;
  readonly copies: number;
  /** Copies of the measured text in a description of tool parameters. `copies` includes them. */
  readonly toolCopies: number;
  readonly about: string;
  /** Builds a probe that asks for fact `of` alone, because a model may have disobeyed by chance. */
  readonly again: (of: string) => FactProbe;
}

interface Row {
  readonly hasSystem: boolean;
  readonly hasHistory: boolean;
  readonly tools: "without" | "offered" | "answered";
  readonly alphabet: "latin" | "others";
}

/** In each of the two tables, any two values of different fields occur together in some row. */
const ROWS: readonly Row[] = [
  { hasSystem: false, hasHistory: false, tools: "without", alphabet: "latin" },
  { hasSystem: false, hasHistory: true, tools: "offered", alphabet: "others" },
  { hasSystem: true, hasHistory: false, tools: "answered", alphabet: "others" },
  { hasSystem: true, hasHistory: true, tools: "without", alphabet: "latin" },
  { hasSystem: false, hasHistory: true, tools: "answered", alphabet: "latin" },
  { hasSystem: true, hasHistory: false, tools: "offered", alphabet: "latin" },
  { hasSystem: false, hasHistory: false, tools: "without", alphabet: "others" },
];
const ROWS_WITHOUT_TOOLS: readonly Row[] = [
  { hasSystem: false, hasHistory: false, tools: "without", alphabet: "latin" },
  { hasSystem: true, hasHistory: true, tools: "without", alphabet: "others" },
  { hasSystem: false, hasHistory: false, tools: "without", alphabet: "others" },
  { hasSystem: false, hasHistory: true, tools: "without", alphabet: "latin" },
  { hasSystem: true, hasHistory: false, tools: "without", alphabet: "latin" },
];

const MORE_COPIES = 3;

/**
 * Returns a small set of probes in which any two parts of a request (system message, history,
 * tools, alphabet) occur together at least once, and each parameter of `listParameters` is sent.
 */
export function factRows(
  subject: Subject,
): readonly Readonly<Record<"whole" | "stream" | "longer", FactProbe>>[] {
  const { deployment } = subject;
  const { supportedParameters } = deployment;
  const covering = supportedParameters.has("tools") ? ROWS : ROWS_WITHOUT_TOOLS;
  const parameters = listParameters(deployment);
  const repeated = parameters.filter(({ name }) => name !== "thinking");
  const count = Math.max(covering.length, parameters.length);
  return Array.from({ length: count }, (_each, at) => {
    const row = covering[at % covering.length] as Row;
    const parameter = parameters[at] ?? repeated[at % Math.max(1, repeated.length)];
    const ofSize = (copies: number, stream: boolean): FactProbe =>
      rowProbe(subject, { row, at, parameter, copies, stream });
    return {
      whole: ofSize(1, false),
      stream: ofSize(1, true),
      longer: ofSize(MORE_COPIES, at % 2 === 0),
    };
  });
}

interface Asking {
  readonly row: Row;
  readonly at: number;
  readonly parameter: Parameter | undefined;
  readonly copies: number;
  readonly stream: boolean;
  readonly again?: Again;
}

interface Again {
  readonly attempt: number;
  readonly of: string;
}

function rowProbe(subject: Subject, asking: Asking): FactProbe {
  const { deployment, chance } = subject;
  const { row, at, parameter, copies, stream, again } = asking;
  const attempt = again?.attempt ?? 1;
  const prose = writeProse(chance, copies);
  // The seed does not depend on `stream`: the whole and the streamed probe have the same prompt.
  const said = new Facts(chance, `${at} ${copies} ${attempt}`, row.alphabet);
  const { hasSystem, hasHistory } = row;
  const hasTools = row.tools !== "without";
  const isAnswered = row.tools === "answered";
  const question: Omit<ChatQuestion, "text"> = {
    maxTokens: parameter?.tokens ?? ANSWER_TOKENS,
    stream,
    ...(hasSystem && { system: `${prose} ${said.in("the system message")}` }),
    ...(hasHistory && {
      history: [
        {
          asked: `${prose} ${said.in("an earlier message of the user")}`,
          answered: "I see.",
        },
        ...SMALL_TALK,
        { asked: "Good.", answered: `I see. ${said.in("an earlier answer")}` },
      ],
    }),
    ...(hasTools && {
      tools: {
        of: [describedBy(isAnswered ? LOOK_UP_TOOL : WEATHER_TOOL, prose)],
        ...(isAnswered
          ? { result: `${prose} ${said.in("the result of a tool")}` }
          : deployment.supportedParameters.has("tool_choice") && { choice: "none" as const }),
      },
    }),
  };
  const parts = [prose, said.in("the last message"), said.in("the end of the last message")];
  const text = [...parts, said.question(again?.of)].join(" ");
  const about = [
    stream ? "a stream" : "a whole answer",
    ...(hasSystem ? ["a system message"] : []),
    ...(hasHistory ? ["earlier turns"] : []),
    ...(hasTools ? [isAnswered ? "a tool's result" : "tools"] : []),
    ...(row.alphabet === "latin" ? [] : ["other alphabets"]),
    ...(parameter === undefined ? [] : [parameter.name]),
  ].join(", ");
  const slots = 1 + [hasSystem, hasHistory, isAnswered, hasTools].filter(Boolean).length;
  const name = `facts ${at + 1}.${attempt}, ${copies} copies${stream ? ", stream" : ""}`;
  return {
    ...chatProbe(subject, name, { ...question, text }, parameter?.body),
    facts: said.all,
    otherFacts: row.alphabet === "latin" ? 0 : said.all.length,
    hasTools,
    hasSystem,
    turns: hasHistory ? 1 + SMALL_TALK.length : 0,
    copies: slots * copies,
    toolCopies: hasTools ? copies : 0,
    about,
    again: (of) => rowProbe(subject, { ...asking, again: { attempt: attempt + 1, of } }),
  };
}

const SMALL_TALK = [
  { asked: "Do you follow?", answered: "Yes." },
  { asked: "Shall we go on?", answered: "Gladly." },
] as const;

/** Puts the text where no provider limits its length: the description of a tool's parameters. */
function describedBy(tool: QuestionTool, description: string): QuestionTool {
  return { ...tool, schema: { ...tool.schema, description } };
}

const LOOK_UP_TOOL: QuestionTool = {
  name: "look_up",
  description: "Returns what is known about a person.",
  schema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  given: { name: "everyone" },
};

const PEOPLE = ["Anna", "Boris", "Clara", "David", "Emma", "Felix"];

const WORDS: readonly (readonly [string, ...string[]])[] = [
  ["κήπος", "θάλασσα", "δρόμος", "γέφυρα", "σύννεφο", "λεμόνι", "καράβι", "φεγγάρι"],
  ["берёза", "облако", "корабль", "молоко", "зеркало", "дорога", "яблоко", "окно"],
  ["山谷", "月亮", "苹果", "河流", "雪花", "窗户", "花园", "灯塔"],
  ["قمر", "بحر", "حديقة", "نافذة", "جسر", "تفاحة", "سحابة", "مرآة"],
];

class Facts {
  readonly all: Fact[] = [];
  readonly #chance: Chance;
  readonly #seed: string;
  readonly #alphabet: Row["alphabet"];

  constructor(chance: Chance, seed: string, alphabet: Row["alphabet"]) {
    this.#chance = chance;
    this.#seed = seed;
    this.#alphabet = alphabet;
  }

  /** Adds a fact and states it. Facts with the same seed and position have the same value. */
  in(place: string, seed = this.#seed): string {
    const at = this.all.length;
    const of = `${this.#kind} of ${PEOPLE[at]}`;
    const value = this.#value(`fact ${seed} ${at}`, at);
    this.all.push({ place, of, value });
    return `The ${of} is ${value}.`;
  }

  question(only?: string): string {
    const wanted = this.all.filter(({ of }) => only === undefined || of === only);
    const asked = wanted.map(({ of }) => `What is the ${of}?`).join(" ");
    return `${asked} Answer with the ${this.#kind}s alone, in this order, exactly as they are written.`;
  }

  get #kind(): "number" | "word" {
    return this.#alphabet === "latin" ? "number" : "word";
  }

  #value(name: string, at: number): string {
    const words = this.#alphabet === "latin" ? undefined : WORDS[at % WORDS.length];
    // All four-digit numbers have the same number of tokens, so C4 can compare prompts.
    if (words === undefined) return String(this.#chance.whole(name, 1_000, 10_000));
    return `${this.#chance.pick(name, words)}-${this.#chance.pick(`${name} too`, words)}`;
  }
}

interface Parameter {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly tokens?: number;
}

function listParameters({ supportedParameters }: Deployment): readonly Parameter[] {
  const own = supportedParameters.has("thinking")
    ? [{ name: "thinking", tokens: 2_048, body: { thinking: THINKING } }]
    : [];
  const plain = PLAIN_PARAMETERS.flatMap((name) => {
    const value = usualValue(name, supportedParameters.get(name));
    return value === undefined ? [] : [{ name, body: { [name]: value } }];
  });
  // `thinking` comes first, so that only the probes of the first row send it. That row has no
  // tools: after a tool call in the history, the provider could require thinking blocks.
  return [...own, ...plain];
}

const THINKING = { type: "enabled", budget_tokens: 1_024 };

const PLAIN_PARAMETERS = [
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "seed",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "reasoning_effort",
];

function usualValue(name: string, descriptor: CapabilityDescriptor | undefined): unknown {
  if (descriptor?.type === "enum") return descriptor.values[0];
  if (descriptor?.type === "integer") {
    return descriptor.default ?? Math.max(1, descriptor.min ?? 1);
  }
  if (descriptor?.type !== "range") return undefined;
  const { min, max, default: usual } = descriptor;
  const plain = name === "top_p" || name === "repetition_penalty" ? 1 : 0;
  return name === "temperature" || usual === undefined
    ? Math.min(max, Math.max(min, plain))
    : usual;
}

const PLAIN_TEXT = {
  otherFacts: 0,
  hasTools: false,
  hasSystem: false,
  turns: 0,
  toolCopies: 0,
} as const;

const CONTEXT_SHARE = 0.6;
const LONG_TOKENS_MAX = 12_000;
const STREAMED_LONG_TOKENS_MAX = 4_000;
/** Maximum tokens of a copy in common tokenizers, so that a long text stays below its target. */
const COPY_TOKENS = 85;

/** Target size of the long text: at most 60 % of the listing's context. */
function longTokens({ contextLength = LONG_TOKENS_MAX }: Deployment, stream: boolean): number {
  const most = stream ? STREAMED_LONG_TOKENS_MAX : LONG_TOKENS_MAX;
  return Math.min(most, Math.floor(CONTEXT_SHARE * contextLength));
}

const MIDDLES = [
  [0.1, 0.35],
  [0.4, 0.6],
  [0.65, 0.9],
] as const;

/** A long text with facts at its start, at three places in the middle, and at its end. */
export function longFacts(subject: Subject, stream: boolean, again?: Again): FactProbe {
  const attempt = again?.attempt ?? 1;
  const { deployment, chance } = subject;
  const tokens = longTokens(deployment, stream);
  const copies = Math.max(10, Math.floor(tokens / COPY_TOKENS));
  const name = `facts in about ${tokens} tokens${stream ? ", stream" : ""}`;
  const said = new Facts(chance, `${name} ${attempt}`, "latin");
  // Number of copies that precede each middle fact: a random place in its part of the text.
  const before = MIDDLES.map(([from, end]) =>
    chance.whole(`${name} ${attempt} ${from}`, Math.floor(from * copies), Math.floor(end * copies)),
  );
  // The whole and the streamed text start alike, to expose a cache keyed by a prompt's start.
  const parts = [said.in("the start of a long text", `long ${attempt}`)];
  for (const [at, count] of before.entries()) {
    parts.push(
      writeProse(chance, count - (before[at - 1] ?? 0)),
      said.in("the middle of a long text"),
    );
  }
  parts.push(writeProse(chance, copies - (before.at(-1) ?? 0)));
  parts.push(said.in("the end of a long text"), said.question(again?.of));
  return {
    ...chatProbe(subject, attempt === 1 ? name : `${name}, try ${attempt}`, {
      text: parts.join(" "),
      stream,
    }),
    facts: said.all,
    ...PLAIN_TEXT,
    copies,
    about: `a text of about ${tokens} tokens${stream ? ", streamed" : ""}`,
    again: (of) => longFacts(subject, stream, { attempt: attempt + 1, of }),
  };
}

/** A short streamed question. Each `number` has another fact, so C10 notices swapped answers. */
export function shortFact(subject: Subject, number: number): FactProbe {
  const said = new Facts(subject.chance, `short ${number}`, "latin");
  const text = `${said.in("a short message")} ${said.question()}`;
  return {
    ...chatProbe(subject, `one fact, stream, repeat ${number}`, { text, stream: true }),
    facts: said.all,
    ...PLAIN_TEXT,
    copies: 0,
    about: "two requests at a time",
    again: () => shortFact(subject, number + 100),
  };
}

export function unsaid({ facts }: FactProbe, answer: string): readonly Fact[] {
  const text = plainly(answer);
  return facts.filter(({ value }) => !text.includes(plainly(value)));
}

/** Removes thousands separators and emphasis, and unifies dashes and the Cyrillic letter ё. */
function plainly(text: string): string {
  return text
    .normalize("NFC")
    .replaceAll(/[*_`\\]/g, "")
    .replaceAll(/(\d)[,.\u00a0\u202f ](?=\d{3}\b)/g, "$1")
    .replaceAll(/ ?[-\u2010-\u2015\u2212] ?/g, "-")
    .replaceAll("ё", "е");
}
