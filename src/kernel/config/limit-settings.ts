import { REFUSALS_PER_MINUTE } from "../core/constants.ts";
import { parseUsd } from "../core/money.ts";
import { type ConfigOf, integer, text } from "./setting.ts";

export const LIMIT_SETTINGS = {
  orgRequestsPerMinute: integer("limits.org_requests_per_minute", 300, {
    doc: "Requests per minute of one organization, all keys together.",
  }),
  unfundedRequestsPerMinute: integer("limits.unfunded_requests_per_minute", 20, {
    doc: "Requests per minute of an organization and its keys until it has credit.",
  }),
  refusalsPerMinute: integer("limits.refusals_rpm", REFUSALS_PER_MINUTE, {
    doc:
      "Refused requests per minute of one key, and three times as many of one organization. Above " +
      "that, requests are refused before their bodies are read.",
  }),
  keyRequestsPerMinute: integer("limits.key_requests_per_minute", 0, {
    min: 0,
    doc: "When above 0, replaces the request limit of every key (load tests, single-tenant installations).",
  }),
  tokensPerMinute: integer("limits.tokens_per_minute", 1_000_000, {
    doc: "Tokens per minute of one organization, and the same of one key.",
  }),
  concurrentRequests: integer("limits.concurrent_requests", 8, {
    doc: "Requests in flight of one organization, and the same of one key.",
  }),
  concurrentDrains: integer("limits.concurrent_drains", 4_096, {
    min: 256,
    doc:
      "Answers read to their end at the same time after their clients disconnected, at least 256. Each " +
      "keeps a slot of its organization and model; above that, an answer is cut off and billed as far as reported.",
  }),
  platformRequestsPerMinute: integer("limits.platform_requests_per_minute", 0, {
    min: 0,
    doc: "Requests per minute of all organizations together; 0: no limit. Above it: 503 `gateway_error`.",
  }),
  platformConcurrentRequests: integer("limits.platform_concurrent_requests", 0, {
    min: 0,
    doc: "Requests in flight of all organizations together; 0: no limit. Above it: 503 `gateway_error`.",
  }),
};

export type LimitConfig = ConfigOf<typeof LIMIT_SETTINGS>;

/** Bounds `unusual_use.client_addresses`, since memory holds all addresses for the whole window. */
const CLIENT_ADDRESSES_MAX = 1_000;

export const UNUSUAL_USE_SETTINGS = {
  unusualUseWindowSeconds: integer("unusual_use.window_seconds", 300, {
    min: 0,
    doc: "Window in which unusual use of organizations on trial is detected; 0: detection is off.",
  }),
  unusualUseRefusedRequests: integer("unusual_use.refused_requests", 200, {
    min: 0,
    doc: "Number of refused requests in the window that is unusual; 0: not checked.",
  }),
  unusualUseClientAddresses: integer("unusual_use.client_addresses", 20, {
    min: 0,
    max: CLIENT_ADDRESSES_MAX,
    doc: "Number of different client addresses in the window that is unusual; 0: not checked.",
  }),
  unusualUseErrorPercent: integer("unusual_use.error_percent", 80, {
    min: 0,
    max: 100,
    doc: "Share of failed requests that is unusual, in percent; 0: not checked.",
  }),
  unusualUseRequestsMin: integer("unusual_use.requests_min", 50, {
    doc: "Minimum number of requests in the window for the share of failed requests to count.",
  }),
  unusualUseSpendUsd: text("unusual_use.spend_usd", "5.00", {
    doc: "Dollars spent in the window that are unusual; empty: not checked.",
    problem: (value) =>
      value === "" || (parseUsd(value) ?? 0n) > 0n
        ? undefined
        : 'must be dollars above 0 such as "5.00", or "" to turn the check off',
  }),
  unusualUseLimitedSeconds: integer("unusual_use.limited_seconds", 600, {
    doc: "How long requests of a kind are limited after a first finding (`usage_limited`).",
  }),
  unusualUseRepeatHours: integer("unusual_use.repeat_hours", 24, {
    doc: "A second finding within this time restricts the kind of request until an operator lifts it.",
  }),
};
