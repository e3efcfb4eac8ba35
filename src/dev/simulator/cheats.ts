import { DECISION_CHEATS } from "./decisions/decision-cheats.ts";
import { IMAGE_CHEATS } from "./images/image-cheats.ts";
import { TEXT_CHEATS } from "./text-cheats.ts";
import { VIDEO_CHEATS } from "./videos/video-cheats.ts";

/** The modality of a listing. */
export type CheatModality = "text" | "image" | "video" | "decisions";

/** A way in which a provider breaks the promise of its listing. */
export interface Cheat {
  /** One sentence: what it does. */
  readonly does: string;
  readonly modalities: readonly CheatModality[];
  /** The checks of the conformance suite that notice it; no other does, unless it says so. */
  readonly checks: string;
  /** The feature that the listing must have for the check to ask about it. */
  readonly needs?: string;
}

const ALL = ["text", "image", "video", "decisions"] as const;

/** The cheats of every kind of host. */
const COMMON: Readonly<Record<string, Cheat>> = {
  "wrong-key-accepted": {
    checks: "C1",
    does: "A key that contains `invalid` is served like any other.",
    modalities: ALL,
    needs: "a key",
  },
  "wrong-key-accepted-in-stream": {
    checks: "C1",
    does: "A key that contains `invalid` is served where a stream is asked for.",
    modalities: ["text"],
    needs: "a key",
  },
  redirect: {
    checks: "C1",
    does: "A request is answered with 307 and another path, where it is then served.",
    modalities: ALL,
  },
  "usage-missing-in-stream": {
    checks: "C3",
    does: "A stream reports no usage; a whole answer does.",
    modalities: ["text"],
  },
  "unknown-model-served": {
    checks: "C8",
    does: "A model that does not exist is served under the name that was asked for.",
    modalities: ALL,
  },
  "unknown-model-served-in-stream": {
    checks: "C8",
    does: "A model that does not exist is served where a stream is asked for.",
    modalities: ["text"],
  },
  "out-of-range-clamped": {
    checks: "C8",
    does: "A sampling value out of its range is answered as if it were the nearest one in it.",
    modalities: ["text"],
    needs: "a range of temperature",
  },
  "errors-as-html": {
    checks: "C8",
    does: "An error is an HTML page with the right status.",
    modalities: ALL,
  },
  "error-as-500": {
    checks: "C8",
    does: "A bad request is answered with 500 in place of 400, 404, 413 or 422.",
    modalities: ALL,
  },
  "error-as-200": {
    checks: "C8 and others",
    does: "A bad request is answered with 200 and a message that says what is wrong.",
    modalities: ALL,
  },
};

/** Every cheat of the simulator. */
export const CHEATS: Readonly<Record<string, Cheat>> = {
  ...COMMON,
  ...toCheats(TEXT_CHEATS, "text"),
  ...toCheats(IMAGE_CHEATS, "image"),
  ...toCheats(VIDEO_CHEATS, "video"),
  ...toCheats(DECISION_CHEATS, "decisions"),
};

type Row = readonly [checks: string, does: string, effect: unknown, needs?: string];

function toCheats(
  table: Readonly<Record<string, Row>>,
  modality: CheatModality,
): Readonly<Record<string, Cheat>> {
  return Object.fromEntries(
    Object.entries(table).map(([name, [checks, does, , needs]]) => {
      // A picture that is not looked at is the cheat of two kinds of host.
      const modalities = name === "image-ignored" ? (["text", "decisions"] as const) : [modality];
      return [name, { checks, does, modalities, ...(needs !== undefined && { needs }) }];
    }),
  );
}

export const CHEAT_NAMES: readonly string[] = Object.keys(CHEATS);

export function isCheatName(name: string): boolean {
  return Object.hasOwn(CHEATS, name);
}
