/** What a listing offers. */
export type CheatModality = "text" | "image" | "video" | "decisions";

/** A way in which a provider breaks the promise of its listing. */
export interface Cheat {
  /** One sentence: what it does. */
  readonly does: string;
  readonly modalities: readonly CheatModality[];
  /** The check of the conformance suite that is expected to notice it, and the only one. */
  readonly check: CheckName;
  /** What the listing must declare for the check to ask about it. */
  readonly needs?: string;
}

type CheckName = `C${number}`;

const TEXT = ["text"] as const;
const IMAGE = ["image"] as const;
const VIDEO = ["video"] as const;
const DECISIONS = ["decisions"] as const;
const ALL = ["text", "image", "video", "decisions"] as const;

/** Every cheat of the simulator, in the order of the checks that notice them. */
export const CHEATS = {
  "wrong-key-accepted": {
    does: "A key that contains `invalid` is served like any other.",
    modalities: ALL,
    check: "C1",
    needs: "a key",
  },
  redirect: {
    does: "A request is answered with 307 and another path, where it is then served.",
    modalities: ALL,
    check: "C1",
  },
  "image-one-missing": {
    does: "Where two or more images are asked for, one fewer is sent; all of them are billed.",
    modalities: IMAGE,
    check: "C2",
    needs: "several images in one request",
  },
  "decision-probabilities-off": {
    does: "The probabilities of a choice or a score have the sum 1.4.",
    modalities: DECISIONS,
    check: "C2",
  },
  "two-end-marks": {
    does: "A stream has its end mark twice.",
    modalities: TEXT,
    check: "C3",
  },
  "text-after-end-mark": {
    does: "The last piece of a streamed text comes once more after the end mark.",
    modalities: TEXT,
    check: "C3",
  },
  "usage-missing-in-stream": {
    does: "A stream reports no usage; a whole answer does.",
    modalities: TEXT,
    check: "C3",
  },
  "usage-plus-10-percent": {
    does: "A tenth more prompt tokens are reported than the prompt has, rounded up.",
    modalities: TEXT,
    check: "C4",
  },
  "usage-plus-constant": {
    does: "100 prompt tokens more are reported than the prompt has.",
    modalities: TEXT,
    check: "C4",
  },
  "usage-cached-over-prompt": {
    does: "10 cached tokens more are reported than the prompt has tokens.",
    modalities: TEXT,
    check: "C4",
  },
  "usage-differs-in-stream": {
    does: "A stream reports 5 prompt tokens more than a whole answer to the same prompt.",
    modalities: TEXT,
    check: "C4",
  },
  "stop-leaked": {
    does: "An answer contains the stop sequence that ends it.",
    modalities: TEXT,
    check: "C5",
  },
  "length-as-stop": {
    does: "An answer that is cut at its bound says that it ended by itself.",
    modalities: TEXT,
    check: "C5",
  },
  "tool-arguments-broken-in-stream": {
    does: "The arguments of a streamed tool call end in their middle; those of a whole one do not.",
    modalities: TEXT,
    check: "C6",
    needs: "tools",
  },
  "model-in-stream": {
    does: "A stream names another model; a whole answer names the right one.",
    modalities: TEXT,
    check: "C7",
  },
  "model-whole": {
    does: "A whole answer names another model; a stream names the right one.",
    modalities: TEXT,
    check: "C7",
  },
  "model-once-in-ten": {
    does: "Every tenth chat answer of the simulator names another model.",
    modalities: TEXT,
    check: "C7",
  },
  "model-fake-date": {
    does: "The model is named with the suffix -20261399, which is not a date.",
    modalities: TEXT,
    check: "C7",
  },
  "unknown-model-served": {
    does: "A model that does not exist is served under the name that was asked for.",
    modalities: ALL,
    check: "C8",
  },
  "out-of-range-clamped": {
    does: "A sampling value out of its range is answered as if it were the nearest one in it.",
    modalities: TEXT,
    check: "C8",
  },
  "errors-as-html": {
    does: "An error is an HTML page with the right status.",
    modalities: ALL,
    check: "C8",
  },
  "error-as-500": {
    does: "A bad request is answered with 500 in place of 400, 404, 413 or 422.",
    modalities: ALL,
    check: "C8",
  },
  "bound-ignored": {
    does: "The output bound is ignored: the whole answer is sent and reported.",
    modalities: TEXT,
    check: "C9",
  },
  "bound-off-by-one": {
    does: "An answer that is cut at its bound has one token more than the bound.",
    modalities: TEXT,
    check: "C9",
  },
  "context-truncated": {
    does: "Only the last 2,000 tokens of the prompt are read; all of them are reported.",
    modalities: TEXT,
    check: "C10",
  },
  "image-ignored": {
    does: "An image in the prompt has no influence on the answer.",
    modalities: ["text", "decisions"],
    check: "C10",
    needs: "images in the prompt",
  },
  "image-wrong-size": {
    does: "Images have half the width that was asked for.",
    modalities: IMAGE,
    check: "C11",
  },
  "video-failed-but-billed": {
    does: "Every video job fails and reports the cost of a finished one.",
    modalities: VIDEO,
    check: "C11",
  },
  "video-seconds-over-max-accepted": {
    does: "A video of more seconds than the host makes is accepted.",
    modalities: VIDEO,
    check: "C11",
  },
  "decision-state-per-question": {
    does: "The tokens of the state are reported once for each question.",
    modalities: DECISIONS,
    check: "C11",
    needs: "a state that is counted once",
  },
} as const satisfies Readonly<Record<string, Cheat>>;

export type CheatName = keyof typeof CHEATS;

export const CHEAT_NAMES: readonly string[] = Object.keys(CHEATS);

export function isCheatName(name: string): name is CheatName {
  return Object.hasOwn(CHEATS, name);
}

/** What cheats an answer has, in the order in which they were named. */
export interface Cheating {
  readonly cheat?: readonly CheatName[];
}

export function isCheating({ cheat }: Cheating, name: CheatName): boolean {
  return cheat !== undefined && cheat.includes(name);
}
