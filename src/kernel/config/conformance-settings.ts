import { atMost, flag, integer, type Setting } from "./setting.ts";

export interface ConformanceConfig {
  readonly requireVerified: boolean;
  readonly liveBadPercent: number;
  readonly liveAnswersMin: number;
}

/** Which listings are trusted. */
export const CONFORMANCE_SETTINGS: {
  readonly [K in keyof ConformanceConfig]: Setting<ConformanceConfig[K]>;
} = {
  requireVerified: flag(
    "catalog.require_verified",
    "Routes only to listings whose last conformance run passed, with this manifest, in the last 30 days.",
  ),
  liveBadPercent: atMost(
    integer(
      "conformance.live_bad_percent",
      1,
      0,
      "Share of a listing's live answers that may break its promises (another model, usage that is missing " +
        "or impossible, more tokens than the bound, a wrong finish reason, unreadable), in percent. " +
        "Above it the listing is suspect and tried last.",
    ),
    100,
  ),
  liveAnswersMin: atMost(
    integer(
      "conformance.live_answers_min",
      200,
      1,
      "Answers of a listing to one process below which their share says nothing, at most 1000.",
    ),
    1_000,
  ),
};
