import type { VideoCheat } from "../../../src/dev/simulator/cheat.ts";
import type { CheatTable } from "./text-effects.ts";

const PAGE = `<!doctype html><html><body>${"Not a film. ".repeat(100)}</body></html>`;

export const VIDEO_CHEATS: CheatTable<VideoCheat> = {
  "video-failed-but-billed": ["C11", { billsFailed: true }],
  "video-seconds-over-max-accepted": ["C11", { acceptsLong: true }],
  "video-page": ["C11", { page: PAGE }],
  "video-one-second": ["C11", { seconds: () => 1 }],
  "video-half": ["C11", { seconds: (n) => Math.ceil(n / 2) }],
  "video-longer": ["C11", { seconds: (n) => n + 3 }],
  "video-stock": ["C11", { seed: "stock" }],
  "video-of-another": ["C11", { isFirst: true }],
  "video-truncated": ["C11", { share: 0.5 }],
  "video-empty": ["C11", { share: 0 }],
  "video-billed-twice": ["C11", { billed: ({ seconds }) => ({ seconds: 2 * seconds }) }],
  "video-billed-as-longest": ["C11", { billed: () => ({ seconds: 12 }) }],
  "video-model": ["C7", { model: "another-model" }],
};
