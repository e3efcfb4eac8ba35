import { parseUsd } from "../core/money.ts";
import { atMost, type ConfigOf, integer, text } from "./setting.ts";

/** Each is a mark in memory for as long as the window. */
const CLIENT_ADDRESSES_MAX = 1_000;

export const UNUSUAL_USE_SETTINGS = {
  unusualUseWindowSeconds: integer(
    "unusual_use.window_seconds",
    300,
    0,
    "Window in which unusual use of organizations on trial is detected; 0: detection is off.",
  ),
  unusualUseRefusedRequests: integer(
    "unusual_use.refused_requests",
    200,
    0,
    "Number of refused requests in the window that is unusual; 0: not checked.",
  ),
  unusualUseClientAddresses: atMost(
    integer(
      "unusual_use.client_addresses",
      20,
      0,
      "Number of different client addresses in the window that is unusual; 0: not checked.",
    ),
    CLIENT_ADDRESSES_MAX,
  ),
  unusualUseErrorPercent: atMost(
    integer(
      "unusual_use.error_percent",
      80,
      0,
      "Share of failed requests that is unusual, in percent; 0: not checked.",
    ),
    100,
  ),
  unusualUseRequestsMin: integer(
    "unusual_use.requests_min",
    50,
    1,
    "Minimum number of requests in the window for the share of failed requests to count.",
  ),
  unusualUseSpendUsd: text(
    "unusual_use.spend_usd",
    "5.00",
    "Dollars spent in the window that are unusual; empty: not checked.",
    {
      problem: (value) =>
        value === "" || (parseUsd(value) ?? 0n) > 0n
          ? undefined
          : 'must be dollars above 0 such as "5.00", or "" to turn the check off',
    },
  ),
  unusualUseLimitedSeconds: integer(
    "unusual_use.limited_seconds",
    600,
    1,
    "How long requests of a kind are limited after a first finding (`usage_limited`).",
  ),
  unusualUseRepeatHours: integer(
    "unusual_use.repeat_hours",
    24,
    1,
    "A second finding within this time restricts the kind of request until an operator lifts it.",
  ),
};

/** The thresholds for unusual use on trial credit, and the consequences. */
export type UnusualUseConfig = ConfigOf<typeof UNUSUAL_USE_SETTINGS>;
