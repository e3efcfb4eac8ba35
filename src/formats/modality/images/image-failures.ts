import { refusal } from "../../../kernel/index.ts";
import { classifyEmbeddedError } from "../../wire/failure/classify-failure.ts";
import type { UpstreamFailure } from "../../wire/failure/upstream-failure.ts";

/**
 * A 200 that does not answer what was asked: another provider may do better. `what` says what was
 * wrong, as far as a caller may know it.
 */
export function unusableImagesFailure(what: string): UpstreamFailure {
  return {
    refusal: refusal("upstream_error", `${what}; nothing was billed, try again`, {
      status: 502,
      origin: "upstream",
      upstreamStatus: 200,
    }),
    failover: true,
    strike: "strike",
  };
}

/**
 * Images beyond the bound. Another provider would make them as large, and the request asked for
 * that much: it says nothing about the provider's health.
 */
export function tooLargeImagesFailure(): UpstreamFailure {
  const message =
    "the images exceed 32 MiB in total; nothing was billed, ask for fewer (n) or a lower quality";
  return {
    refusal: refusal("gateway_error", message, {
      status: 502,
      origin: "upstream",
      upstreamStatus: 200,
    }),
    failover: false,
    strike: "neutral",
  };
}

/** A 200 that says by a flag instead of an error that the content was refused. */
export function moderatedImagesFailure(): UpstreamFailure {
  return classifyEmbeddedError({ error: { code: "moderation_blocked" } });
}
