import type { RequestId } from "../../kernel/index.ts";

/** Where in which trace something is: W3C Trace Context, level 2. */
export interface TraceContext {
  /** 32 hexadecimal characters. */
  readonly traceId: string;
  /** 16 hexadecimal characters. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** Are the last seven bytes of the trace id random? */
  readonly isRandom: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 0x01;
const RANDOM = 0x02;
/** The longest header that is read: a later version of the standard may append to it. */
const CHARS_MAX = 256;

/** What a `traceparent` says; undefined: nothing that the standard lets one use. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length > CHARS_MAX) return undefined;
  const [, version = "ff", traceId = "", spanId = "", flagText = "", rest] =
    FORM.exec(header) ?? [];
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const flags = Number.parseInt(flagText, 16);
  return {
    traceId,
    spanId,
    isSampled: (flags & SAMPLED) !== 0,
    isRandom: (flags & RANDOM) !== 0,
  };
}

export function traceparentOf({ traceId, spanId, isSampled, isRandom }: TraceContext): string {
  const flags = (isSampled ? SAMPLED : 0) | (isRandom ? RANDOM : 0);
  return `00-${traceId}-${spanId}-0${flags}`;
}

/** The trace of a request that came with none: `x-request-id` finds it. Its last 7 bytes are random. */
export function traceIdOf(requestId: RequestId): string {
  return requestId.replaceAll("-", "");
}
