import type { Deployment, InputModality } from "../../../catalog/index.ts";
import { boundFor, wireOf } from "./chat-probes.ts";
import { BLUE, mp4Of, pdfOf, pngOf, RED, wavOf } from "../probing/media-files.ts";
import type { Probe } from "../probing/probe.ts";

export type MediaKind = Exclude<InputModality, "text">;

export const MEDIA_KINDS: readonly MediaKind[] = ["image", "file", "audio", "video"];

/** One file, and the word that an answer about it should have. */
export interface MediaSample {
  readonly word: string;
  readonly bytes: Buffer;
}

/** Two files of one kind that differ in what the question is about. */
interface MediaQuestion {
  readonly text: string;
  readonly samples: () => readonly [MediaSample, MediaSample];
}

/** Enough for a short answer, and for a model that thinks before it speaks. */
const ANSWER_TOKENS = 1_024;

const QUESTIONS: Readonly<Record<MediaKind, MediaQuestion>> = {
  image: {
    text: "Which colour fills this image, red or blue? Answer with one word.",
    samples: () => [
      { word: "red", bytes: pngOf(RED) },
      { word: "blue", bytes: pngOf(BLUE) },
    ],
  },
  file: {
    text: "Which fruit does this document name? Answer with one word.",
    samples: () => [
      { word: "plum", bytes: pdfOf("The fruit of this page is the plum.") },
      { word: "quince", bytes: pdfOf("The fruit of this page is the quince.") },
    ],
  },
  audio: {
    text: "Is there a tone in this recording, or silence? Answer with one word, tone or silence.",
    samples: () => [
      { word: "tone", bytes: wavOf(440) },
      { word: "silence", bytes: wavOf(0) },
    ],
  },
  video: {
    text: "Which colour fills this video, red or blue? Answer with one word.",
    samples: () => [
      { word: "red", bytes: mp4Of("red") },
      { word: "blue", bytes: mp4Of("blue") },
    ],
  },
};

/** Two probes that differ in their file alone, with the word that each answer should have. */
export interface MediaPair {
  readonly first: Probe;
  readonly second: Probe;
  /** The first one once more, for answers that differ and name neither. */
  readonly firstAgain: Probe;
  readonly words: readonly [string, string];
}

/** Undefined: the wire has no part for files of this kind. */
export function mediaPair(deployment: Deployment, kind: MediaKind): MediaPair | undefined {
  const partOf = PARTS[deployment.wire]?.[kind];
  if (partOf === undefined) return undefined;
  const { text, samples } = QUESTIONS[kind];
  const [one, other] = samples();
  const asking = (name: string, { bytes }: MediaSample): Probe =>
    asked(deployment, name, [partOf(bytes.toString("base64")), { type: "text", text }]);
  return {
    first: asking(`${kind} input: ${one.word}`, one),
    second: asking(`${kind} input: ${other.word}`, other),
    firstAgain: asking(`${kind} input: ${one.word}, again`, one),
    words: [one.word, other.word],
  };
}

type PartWriter = (base64: string) => Readonly<Record<string, unknown>>;

/** How a client of each wire sends a file. */
const PARTS: Readonly<Record<string, Partial<Record<MediaKind, PartWriter>>>> = {
  wire_a: {
    image: (data) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }),
    file: (data) => ({
      type: "file",
      file: { filename: "page.pdf", file_data: `data:application/pdf;base64,${data}` },
    }),
    audio: (data) => ({ type: "input_audio", input_audio: { data, format: "wav" } }),
    video: (data) => ({ type: "video_url", video_url: { url: `data:video/mp4;base64,${data}` } }),
  },
  wire_b: {
    image: (data) => ({
      type: "image",
      source: { type: "base64", media_type: "image/png", data },
    }),
    file: (data) => ({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data },
    }),
  },
};

export const CODE_WORD = "marigold";

const CONTEXT_SHARE = 0.6;
const LONG_TOKENS_MAX = 16_000;
/** Of ordinary English; tokenizers that need more tokens stay within the context. */
const CHARS_PER_TOKEN = 4;

/** Tokens of the long text that this listing is asked to read. */
export function longTokens({ contextLength = LONG_TOKENS_MAX }: Deployment): number {
  return Math.min(LONG_TOKENS_MAX, Math.floor(CONTEXT_SHARE * contextLength));
}

/** A fact, a long text behind it, and the question for the fact. */
export function longContext(deployment: Deployment): Probe {
  const fact = `The code word is ${CODE_WORD}.`;
  const question = "What is the code word? Answer with the code word alone.";
  const chars = longTokens(deployment) * CHARS_PER_TOKEN - fact.length - question.length;
  const text = `${fact}\n\n${fillingText(chars)}\n\n${question}`;
  return asked(deployment, `a fact before ${longTokens(deployment)} tokens`, text);
}

function asked(deployment: Deployment, name: string, content: unknown): Probe {
  const coldest = deployment.supportedParameters.get("temperature");
  const isCold = coldest?.type === "range" && coldest.min <= 0;
  return {
    name,
    wire: wireOf(deployment),
    body: {
      max_tokens: boundFor(deployment, ANSWER_TOKENS),
      messages: [{ role: "user", content }],
      ...(isCold ? { temperature: 0 } : {}),
    },
  };
}

const PEOPLE = ["The baker", "A clerk", "The captain", "My neighbour", "A student", "The doctor"];
const DEEDS = ["wrote down", "talked about", "remembered", "measured", "described"];
const THINGS = ["the old bridge", "a quiet garden", "the morning train", "two wooden boats"];
const TIMES = ["before breakfast", "on a rainy day", "in early spring", "after the long winter"];

/** Plain sentences of this many characters, none like the one before. */
function fillingText(chars: number): string {
  const sentences: string[] = [];
  for (let at = 0, length = 0; length < chars; at += 1) {
    const words = [PEOPLE, DEEDS, THINGS, TIMES].map((list) => list[at % list.length] ?? "");
    const sentence = `${words.join(" ")}.`;
    sentences.push(sentence);
    length += sentence.length + 1;
  }
  return sentences.join(" ").slice(0, Math.max(0, chars));
}
