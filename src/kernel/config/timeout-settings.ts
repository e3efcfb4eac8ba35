import { type ConfigOf, integer } from "./setting.ts";

export const TIMEOUT_SETTINGS = {
  streamHeadersTimeoutMs: integer(
    "timeouts.stream_headers_ms",
    20_000,
    1,
    "Maximum wait for a provider's response headers on a stream.",
  ),
  generationTimeoutMs: integer(
    "timeouts.generation_ms",
    450_000,
    1,
    "Maximum duration of an answer that is not streamed or whose client has disconnected.",
  ),
  streamIdleTimeoutMs: integer(
    "timeouts.stream_idle_ms",
    120_000,
    1,
    "Maximum time without data from a provider inside a stream.",
  ),
  routingTimeoutMs: integer(
    "timeouts.routing_ms",
    450_000,
    1,
    "Time in which another deployment may still be tried.",
  ),
  firstContentTimeoutMs: integer(
    "timeouts.first_content_ms",
    450_000,
    1,
    "Maximum wait for a stream's first content; comments and empty events do not extend it.",
  ),
  streamTotalMs: integer(
    "timeouts.stream_total_ms",
    3_600_000,
    1,
    "Maximum duration of a stream with a connected client; it then ends with an error.",
  ),
  commitSilenceMs: integer(
    "timeouts.commit_silence_ms",
    45_000,
    0,
    "Time after which a stream that its provider has accepted is started without content, so that " +
      "no proxy closes it; from then on no other provider is tried. 0: never.",
  ),
  keepaliveMs: integer(
    "timeouts.keepalive_ms",
    10_000,
    1,
    "Time without data after which a keep-alive is sent on a client's open stream.",
  ),
  videoAcceptTimeoutMs: integer(
    "timeouts.video_accept_ms",
    60_000,
    1,
    "Maximum wait until a provider accepts a video job.",
  ),
  decisionsTimeoutMs: integer("timeouts.decisions_ms", 60_000, 1, "Maximum wait for a decision."),
};

/** Time limits of calls, in milliseconds. */
export type TimeoutConfig = ConfigOf<typeof TIMEOUT_SETTINGS>;
