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
  ...cheats(
    { check: "C1", modalities: ALL, needs: "a key" },
    {
      "wrong-key-accepted": "A key that contains `invalid` is served like any other.",
    },
  ),
  ...cheats(
    { check: "C1", modalities: ALL },
    {
      redirect: "A request is answered with 307 and another path, where it is then served.",
    },
  ),
  ...cheats(
    { check: "C2", modalities: IMAGE, needs: "several images in one request" },
    {
      "image-one-missing":
        "Where two or more images are asked for, one fewer is sent; all of them are billed.",
    },
  ),
  ...cheats(
    { check: "C2", modalities: DECISIONS },
    {
      "decision-probabilities-off": "The probabilities of a choice or a score have the sum 1.4.",
    },
  ),
  ...cheats(
    { check: "C3", modalities: TEXT },
    {
      "two-end-marks": "A stream has its end mark twice.",
      "text-after-end-mark":
        "The last piece of a streamed text comes once more after the end mark.",
      "usage-missing-in-stream": "A stream reports no usage; a whole answer does.",
    },
  ),
  ...cheats(
    { check: "C4", modalities: TEXT },
    {
      "usage-plus-10-percent":
        "A tenth more prompt tokens are reported than the prompt has, rounded up.",
      "usage-plus-constant": "100 prompt tokens more are reported than the prompt has.",
      "usage-cached-over-prompt": "10 cached tokens more are reported than the prompt has tokens.",
      "usage-differs-in-stream":
        "A stream reports 5 prompt tokens more than a whole answer to the same prompt.",
    },
  ),
  ...cheats(
    { check: "C5", modalities: TEXT },
    {
      "stop-leaked": "An answer contains the stop sequence that ends it.",
      "length-as-stop": "An answer that is cut at its bound says that it ended by itself.",
    },
  ),
  ...cheats(
    { check: "C6", modalities: TEXT, needs: "tools" },
    {
      "tool-arguments-broken-in-stream":
        "The arguments of a streamed tool call end in their middle; those of a whole one do not.",
    },
  ),
  ...cheats(
    { check: "C7", modalities: TEXT },
    {
      "model-in-stream": "A stream names another model; a whole answer names the right one.",
      "model-whole": "A whole answer names another model; a stream names the right one.",
      "model-once-in-ten": "Every tenth chat answer of the simulator names another model.",
      "model-fake-date": "The model is named with the suffix -20261399, which is not a date.",
    },
  ),
  ...cheats(
    { check: "C8", modalities: ALL },
    {
      "unknown-model-served":
        "A model that does not exist is served under the name that was asked for.",
    },
  ),
  ...cheats(
    { check: "C8", modalities: TEXT },
    {
      "out-of-range-clamped":
        "A sampling value out of its range is answered as if it were the nearest one in it.",
    },
  ),
  ...cheats(
    { check: "C8", modalities: ALL },
    {
      "errors-as-html": "An error is an HTML page with the right status.",
      "error-as-500": "A bad request is answered with 500 in place of 400, 404, 413 or 422.",
    },
  ),
  ...cheats(
    { check: "C9", modalities: TEXT },
    {
      "bound-ignored": "The output bound is ignored: the whole answer is sent and reported.",
      "bound-off-by-one": "An answer that is cut at its bound has one token more than the bound.",
    },
  ),
  ...cheats(
    { check: "C10", modalities: TEXT },
    {
      "context-truncated":
        "Only the last 2,000 tokens of the prompt are read; all of them are reported.",
    },
  ),
  ...cheats(
    { check: "C10", modalities: ["text", "decisions"], needs: "images in the prompt" },
    {
      "image-ignored": "An image in the prompt has no influence on the answer.",
    },
  ),
  ...cheats(
    { check: "C11", modalities: IMAGE },
    {
      "image-wrong-size": "Images have half the width that was asked for.",
    },
  ),
  ...cheats(
    { check: "C11", modalities: VIDEO },
    {
      "video-failed-but-billed": "Every video job fails and reports the cost of a finished one.",
      "video-seconds-over-max-accepted": "A video of more seconds than the host makes is accepted.",
    },
  ),
  ...cheats(
    { check: "C11", modalities: DECISIONS, needs: "a state that is counted once" },
    {
      "decision-state-per-question": "The tokens of the state are reported once for each question.",
    },
  ),
};

function cheats<Name extends string>(
  about: Omit<Cheat, "does">,
  sentences: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Cheat>> {
  const rows = Object.entries<string>(sentences).map(([name, does]) => [name, { does, ...about }]);
  return Object.fromEntries(rows) as Record<Name, Cheat>;
}

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
