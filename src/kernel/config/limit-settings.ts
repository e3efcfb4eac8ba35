import { REFUSALS_PER_MINUTE } from "../core/constants.ts";
import { type ConfigOf, integer } from "./setting.ts";

export const LIMIT_SETTINGS = {
  orgRequestsPerMinute: integer(
    "limits.org_requests_per_minute",
    300,
    1,
    "Requests per minute of one organization, all keys together.",
  ),
  unfundedRequestsPerMinute: integer(
    "limits.unfunded_requests_per_minute",
    20,
    1,
    "Requests per minute of an organization and its keys until it has credit.",
  ),
  refusalsPerMinute: integer(
    "limits.refusals_rpm",
    REFUSALS_PER_MINUTE,
    1,
    "Refused requests per minute of one key, and three times as many of one organization. Above " +
      "that, requests are refused before their bodies are read.",
  ),
  keyRequestsPerMinute: integer(
    "limits.key_requests_per_minute",
    0,
    0,
    "When above 0, replaces the request limit of every key (load tests, single-tenant installations).",
  ),
  tokensPerMinute: integer(
    "limits.tokens_per_minute",
    1_000_000,
    1,
    "Tokens per minute of one organization, and the same of one key.",
  ),
  concurrentRequests: integer(
    "limits.concurrent_requests",
    8,
    1,
    "Requests in flight of one organization, and the same of one key.",
  ),
  concurrentDrains: integer(
    "limits.concurrent_drains",
    4_096,
    256,
    "Answers read to their end at the same time after their clients disconnected, at least 256. Each " +
      "keeps a slot of its organization and model; above that, an answer is cut off and billed as far as reported.",
  ),
  platformRequestsPerMinute: integer(
    "limits.platform_requests_per_minute",
    0,
    0,
    "Requests per minute of all organizations together; 0: no limit. Above it: 503 `gateway_error`.",
  ),
  platformConcurrentRequests: integer(
    "limits.platform_concurrent_requests",
    0,
    0,
    "Requests in flight of all organizations together; 0: no limit. Above it: 503 `gateway_error`.",
  ),
};

/** The limits that apply where nothing else is agreed. */
export type LimitConfig = ConfigOf<typeof LIMIT_SETTINGS>;
