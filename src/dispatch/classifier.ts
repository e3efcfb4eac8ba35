import type { Clock } from "../core/index.ts";
import {
  brokenOffFailure,
  classifyFailure,
  connectionFailure,
  type ConnectionFault,
  timeoutFailure,
  unusableFailure,
  withoutBlame,
} from "../wire/index.ts";
import type { AttemptClassifier } from "./run-attempt.ts";

const FAULT_OF_CODE: Readonly<Record<string, ConnectionFault>> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  ENETUNREACH: "refused",
  ETIMEDOUT: "refused",
  UND_ERR_CONNECT_TIMEOUT: "refused",
  PRIVATE_ADDRESS: "refused",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EPROTO: "tls",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls",
  SELF_SIGNED_CERT_IN_CHAIN: "tls",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls",
  CERT_HAS_EXPIRED: "tls",
};

/** Names what went wrong on the way to a provider in the terms of the wires. */
export function attemptClassifier(clock: Clock): AttemptClassifier {
  return {
    answer: (failed) => classifyFailure(failed, clock.nowMs()),
    connection: (error) => connectionFailure(faultOf(error)),
    timeout: (status) => timeoutFailure(status ?? undefined),
    brokenBody: (status) => brokenOffFailure(status),
    unusable: (status) => unusableFailure(status),
    // Of what a client may ask, some needs more bytes for each token than others.
    endless: (status) => withoutBlame(brokenOffFailure(status)),
    // Our own decision: it says nothing about the provider's health, and no other provider is
    // tried.
    abandoned: (status) => ({
      ...withoutBlame(brokenOffFailure(status ?? 200)),
      strike: "neutral",
      failover: false,
    }),
  };
}

function faultOf(error: Error): ConnectionFault {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (/^(ERR_TLS|ERR_SSL)/.test(code)) return "tls";
  return FAULT_OF_CODE[code] ?? "reset";
}
