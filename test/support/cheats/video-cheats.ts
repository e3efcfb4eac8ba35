import type { VideoCheat } from "../../../src/dev/simulator/cheat.ts";

const PAGE = `<!doctype html><html><body>${"Not a film. ".repeat(100)}</body></html>`;

type Rows = Readonly<
  Record<string, readonly [check: string, does: string, VideoCheat, needs?: string]>
>;

/** By name: the check that finds the cheat, what the cheat does, and how. */
export const VIDEO_CHEATS: Rows = {
  "video-failed-but-billed": [
    "C11",
    "Every video job fails and reports the cost of a finished one.",
    { billsFailed: true },
  ],
  "video-seconds-over-max-accepted": [
    "C11",
    "A video of more seconds than the host makes is accepted.",
    { acceptsLong: true },
  ],
  "video-page": ["C11", "The file of a video is a page of HTML.", { page: PAGE }],
  "video-one-second": ["C11", "Every video has one second.", { seconds: () => 1 }],
  "video-half": [
    "C11",
    "Every video of more than a second is half as long as was asked for.",
    { seconds: (n) => Math.ceil(n / 2) },
  ],
  "video-longer": [
    "C11",
    "Every video is 3 seconds longer than was asked for.",
    { seconds: (n) => n + 3 },
  ],
  "video-stock": [
    "C11",
    "Every video is the same film, in the length that was asked for.",
    { seed: "stock" },
  ],
  "video-of-another": ["C11", "Every job has the file of the first one.", { isFirst: true }],
  "video-truncated": ["C11", "The file of a video ends in its middle.", { share: 0.5 }],
  "video-empty": ["C11", "The file of a video has a head and no film.", { share: 0 }],
  "video-billed-twice": [
    "C11",
    "Twice the cost of a video is reported.",
    { billed: ({ seconds }) => ({ seconds: 2 * seconds }) },
  ],
  "video-billed-as-longest": [
    "C11",
    "Every video is billed as one of 12 seconds.",
    { billed: () => ({ seconds: 12 }) },
  ],
  "video-model": [
    "C7",
    "The record of a finished video names another model.",
    { model: "another-model" },
  ],
};
