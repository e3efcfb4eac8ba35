import type { Deployment, InputModality } from "../../../catalog/index.ts";
import { ANSWER_TOKENS, boundFor, coldest, findWire } from "./chat-probes.ts";
import { BLUE, renderMp4, renderPdf, renderPng, RED, renderWav } from "../probing/media-files.ts";
import type { Probe } from "../probing/lab.ts";

export type MediaKind = Exclude<InputModality, "text">;

export const MEDIA_KINDS: readonly MediaKind[] = ["image", "file", "audio", "video"];

type MediaSample = readonly [word: string, bytes: Buffer];

interface MediaQuestion {
  readonly text: string;
  readonly samples: () => readonly [MediaSample, MediaSample];
}

const QUESTIONS: Readonly<Record<MediaKind, MediaQuestion>> = {
  image: {
    text: "Which colour fills this image, red or blue? Answer with one word.",
    samples: () => [
      ["red", renderPng(RED)],
      ["blue", renderPng(BLUE)],
    ],
  },
  file: {
    text: "Which fruit does this document name? Answer with one word.",
    samples: () => [
      ["plum", renderPdf("The fruit of this page is the plum.")],
      ["quince", renderPdf("The fruit of this page is the quince.")],
    ],
  },
  audio: {
    text: "Is there a tone in this recording, or silence? Answer with one word, tone or silence.",
    samples: () => [
      ["tone", renderWav(440)],
      ["silence", renderWav(0)],
    ],
  },
  video: {
    text: "Which colour fills this video, red or blue? Answer with one word.",
    samples: () => [
      ["red", renderMp4("red")],
      ["blue", renderMp4("blue")],
    ],
  },
};

/** Two prompts with two images each. They differ only in the image that the question is about. */
interface ManyImages {
  readonly which: "first" | "last";
  readonly both: readonly [Probe, Probe];
}

export function manyImages(deployment: Deployment): readonly ManyImages[] {
  const partOf = PARTS[deployment.wire]?.image;
  if (partOf === undefined) return [];
  const [red, blue] = [RED, BLUE].map((colour) => partOf(renderPng(colour).toString("base64")));
  const of = (which: string, colours: string, parts: readonly unknown[]): Probe => {
    const text = `Which colour fills the ${which} of these two images, red or blue? Answer with one word.`;
    const name = `two images, ${colours}, the ${which}`;
    return buildProbe(deployment, name, [...parts, { type: "text", text }]);
  };
  return [
    {
      which: "last",
      both: [of("last", "red red", [red, red]), of("last", "red blue", [red, blue])],
    },
    {
      which: "first",
      both: [of("first", "red red", [red, red]), of("first", "blue red", [blue, red])],
    },
  ];
}

interface MediaPair {
  readonly first: Probe;
  readonly second: Probe;
  /** Sent if the answers lack the words: shows whether answers to one prompt vary by chance. */
  readonly firstAgain: Probe;
  readonly words: readonly [string, string];
}

export function mediaPair(deployment: Deployment, kind: MediaKind): MediaPair | undefined {
  const partOf = PARTS[deployment.wire]?.[kind];
  if (partOf === undefined) return undefined;
  const { text, samples } = QUESTIONS[kind];
  const [one, other] = samples();
  const asking = ([word, bytes]: MediaSample, again = ""): Probe => {
    const parts = [partOf(bytes.toString("base64")), { type: "text", text }];
    return buildProbe(deployment, `${kind} input: ${word}${again}`, parts);
  };
  return {
    first: asking(one),
    second: asking(other),
    firstAgain: asking(one, ", again"),
    words: [one[0], other[0]],
  };
}

type PartWriter = (base64: string) => Readonly<Record<string, unknown>>;

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

function buildProbe(deployment: Deployment, name: string, content: unknown): Probe {
  return {
    name,
    wire: findWire(deployment),
    body: {
      max_tokens: boundFor(deployment, ANSWER_TOKENS),
      messages: [{ role: "user", content }],
      ...coldest(deployment),
    },
  };
}
