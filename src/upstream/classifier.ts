import type { Deployment } from "../catalog/index.ts";
import {
  brokenOffFailure,
  classifyFailure,
  connectionFailure,
  type ConnectionFault,
  type FailedAnswer,
  timeoutFailure,
  type UpstreamFailure,
  withoutBlame,
} from "../formats/index.ts";
import { type Clock, textOf } from "../kernel/index.ts";
import { NAME_FAULTS } from "./address-guard.ts";

const REFUSED =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|PRIVATE_ADDRESS)$/;
const TLS = /^(ERR_(TLS|SSL)|EPROTO$|CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_|INVALID_)/;

export type AttemptClassifier = ReturnType<typeof attemptClassifier>;

export function attemptClassifier(clock: Clock) {
  return {
    answer: (failed: FailedAnswer): UpstreamFailure => classifyFailure(failed, clock.nowMs()),
    connection: (error: Error): UpstreamFailure => {
      const code = readCode(error);
      const fault = classifyFault(code);
      return { ...connectionFailure(fault), reason: `${fault} ${code}`.trimEnd() };
    },
    timeout: (status: number | null): UpstreamFailure => timeoutFailure(status ?? undefined),
    brokenBody: (status: number): UpstreamFailure => brokenOffFailure(status),
    // The stream exceeded `streamBytesMax`. The listing is not blamed, because a request may need
    // more bytes per token. But it is a strike: most such streams would not end for any client.
    endless: (status: number): UpstreamFailure => withoutBlame(brokenOffFailure(status)),
    // The gateway ended the attempt: the provider's health is unchanged, and no other is tried.
    abandoned: (status: number | null): UpstreamFailure => ({
      ...withoutBlame(brokenOffFailure(status ?? 200)),
      strike: "neutral",
      failover: false,
      isByGateway: true,
    }),
  };
}

function readCode(error: Error): string {
  // If a proxy refuses the tunnel, undici says so only in the message of the error.
  const proxyStatus = /^Proxy response \((\d{3})\)/.exec(error.message)?.[1];
  if (proxyStatus !== undefined) return `proxy status ${proxyStatus}`;
  return "code" in error ? textOf(error.code) : "";
}

function classifyFault(code: string): ConnectionFault {
  if (TLS.test(code)) return "tls";
  if (NAME_FAULTS.has(code)) return "dns";
  return REFUSED.test(code) || code.startsWith("proxy") ? "refused" : "reset";
}

/** Names the customer's own key as refused, because only the customer can fix that. */
export function ownKeyFailure(
  failure: UpstreamFailure,
  deployment: Pick<Deployment, "ownKey">,
): UpstreamFailure {
  const { refusal } = failure;
  if (deployment.ownKey === undefined || refusal.class !== "auth") return failure;
  const message =
    `the provider refused your organization's own key with status ${refusal.status}; ` +
    `check its connection, or set provider.connections to "never" in the meantime`;
  return { ...failure, refusal: { ...refusal, message } };
}
