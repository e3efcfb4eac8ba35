import { answerTo } from "../../../src/dev/simulator/answer.ts";
import type { Cheat, Cheats } from "../../../src/dev/simulator/cheat.ts";
import type { JsonObject } from "../../../src/dev/simulator/json.ts";
import { DECISION_CHEATS, playDecision, withoutPictures } from "./decision-cheats.ts";
import { IMAGE_CHEATS } from "./image-cheats.ts";
import { playText } from "./play-text.ts";
import { TEXT_CHEATS } from "./text-cheats.ts";
import type { CheatTable } from "./text-effects.ts";
import { VIDEO_CHEATS } from "./video-cheats.ts";

export type CheatModality = "text" | "image" | "video" | "decisions";

export interface NamedCheat {
  readonly modalities: readonly CheatModality[];
  /** The checks of the conformance suite that must notice the cheat. */
  readonly checks: string;
  /** A feature that a listing must have for the cheat to occur. */
  readonly needs?: string;
  readonly plays: Cheat;
}

const ALL = ["text", "image", "video", "decisions"] as const;

const BAD_REQUEST = new Set([400, 404, 413, 422]);

function refuseWith(status: number): Cheat {
  return { refuse: (honest) => (BAD_REQUEST.has(honest) ? { status } : {}) };
}

function clamp(body: JsonObject): JsonObject {
  // No listing has a narrower range than 0 to 1, and these values do not change an answer.
  const clamped = ["temperature", "top_p", "frequency_penalty", "presence_penalty"].flatMap(
    (key) =>
      typeof body[key] === "number" ? [[key, Math.min(1, Math.max(0, body[key]))] as const] : [],
  );
  return { ...body, ...Object.fromEntries(clamped) };
}

const COMMON: Readonly<Record<string, NamedCheat>> = {
  "wrong-key-accepted": {
    checks: "C1",
    modalities: ALL,
    needs: "a key",
    plays: { acceptsWrongKey: () => true },
  },
  "wrong-key-accepted-in-stream": {
    checks: "C1",
    modalities: ["text"],
    needs: "a key",
    plays: { acceptsWrongKey: (isStream) => isStream },
  },
  redirect: { checks: "C1", modalities: ALL, plays: { redirects: true } },
  "usage-missing-in-stream": {
    checks: "C3",
    modalities: ["text"],
    plays: {
      chat: ({ request }) => ({
        request,
        answer: answerTo(request),
        model: request.model,
        hidesUsage: request.stream,
      }),
    },
  },
  "unknown-model-served": {
    checks: "C8",
    modalities: ALL,
    plays: { servesUnknownModel: () => true },
  },
  "unknown-model-served-in-stream": {
    checks: "C8",
    modalities: ["text"],
    plays: { servesUnknownModel: (isStream) => isStream },
  },
  "out-of-range-clamped": {
    checks: "C8",
    modalities: ["text"],
    needs: "a range of temperature",
    plays: { readBody: clamp },
  },
  "errors-as-html": { checks: "C8", modalities: ALL, plays: { refuse: () => ({ isPage: true }) } },
  "error-as-500": { checks: "C8", modalities: ALL, plays: refuseWith(500) },
  "error-as-200": { checks: "C8 and others", modalities: ALL, plays: refuseWith(200) },
};

/** All cheats by name; the simulator plays one on the fault `cheat:NAME`. */
export const CHEATS: Readonly<Record<string, NamedCheat>> = {
  ...COMMON,
  ...nameCheats(TEXT_CHEATS, "text", (effect) => ({ chat: playText(effect) })),
  ...nameCheats(IMAGE_CHEATS, "image", (image) => ({ image })),
  ...nameCheats(VIDEO_CHEATS, "video", (video) => ({ video })),
  ...nameCheats(DECISION_CHEATS, "decisions", (effect) => ({ decisions: playDecision(effect) })),
};

export const PLAYED_CHEATS: Cheats = Object.fromEntries(
  Object.entries(CHEATS).map(([name, { plays }]) => [name, plays]),
);

function nameCheats<E>(
  table: CheatTable<E>,
  modality: CheatModality,
  play: (effect: E) => Cheat,
): Readonly<Record<string, NamedCheat>> {
  return Object.fromEntries(
    Object.entries(table).map(([name, [checks, effect, needs]]): [string, NamedCheat] => {
      const named = { checks, ...(needs !== undefined && { needs }) };
      if (name !== "image-ignored") {
        return [name, { ...named, modalities: [modality], plays: play(effect) }];
      }
      // A picture can be ignored in a chat and in a decision.
      const plays = { ...play(effect), decisions: { read: withoutPictures } };
      return [name, { ...named, modalities: ["text", "decisions"], plays }];
    }),
  );
}

export const CHEAT_NAMES: readonly string[] = Object.keys(CHEATS);
