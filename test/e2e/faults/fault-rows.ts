import type { Wire } from "../../support/ask.ts";

/**
 * One row of the fault matrix: what goes wrong, and what the client, the headers and the books say.
 * Every row speaks one wire to the gateway and the same wire to its providers.
 */
export interface FaultRow {
  readonly id: string;
  readonly what: string;
  readonly wire: Wire;
  readonly stream: boolean;
  /** The provider that is tried first; default the simulator. */
  readonly first?: "simulator" | "closed port" | "no such host" | "bad certificate" | "odd error";
  /** The fault of the first provider, in the simulator's language. */
  readonly fault?: string;
  /** True if the provider's pool cools down: the row's second run then needs another listing. */
  readonly cools?: true;
  /** True if a healthy provider follows the first one. */
  readonly second: boolean;
  readonly status: number;
  /** Class of the refusal, or of the terminal event when the status is 200. */
  readonly class: string | null;
  /** Expected header values; null: the header must be absent; `*`: any value. */
  readonly headers: Readonly<Record<string, string | null>>;
  /** `observed`: the serving attempt's usage is paid; `known`: what a dead stream had reported. */
  readonly money: "none" | "observed" | "known";
  readonly retryable?: boolean;
  readonly text?: string;
  readonly maxTokens?: number;
}

const UNREACHED = {
  "x-tm-error-code": "model_unavailable",
  "x-tm-error-origin": "upstream",
  "x-tm-attempts": "1",
  "x-tm-upstream-status": null,
};
const TIMED_OUT = {
  "x-tm-error-code": "upstream_error",
  "x-tm-error-origin": "upstream",
  "x-tm-attempts": "1",
};
const SECOND = { "x-tm-attempts": "2", "x-tm-provider": "second", "x-tm-error-code": null };
const UNUSABLE = { "x-tm-error-code": "gateway_error", "x-tm-attempts": "1" };
const SERVED = { "x-tm-attempts": "1", "x-tm-provider": "*", "x-tm-error-code": null };

const chat = { wire: "wire_a", stream: false, second: false } as const;
const chatStream = { wire: "wire_a", stream: true, second: false } as const;
const messages = { wire: "wire_b", stream: false, second: false } as const;
const messagesStream = { wire: "wire_b", stream: true, second: false } as const;
const unreached = { ...chat, status: 502, class: "model_unavailable", headers: UNREACHED } as const;
const timedOut = { status: 504, class: "upstream_error", money: "none" } as const;
const unusable = { status: 502, class: "gateway_error", headers: UNUSABLE, money: "none" } as const;
const died = {
  status: 200,
  class: "upstream_error",
  money: "known",
  headers: { "x-tm-attempts": "1" },
} as const;
const fromSecond = { second: true, status: 200, class: null, headers: SECOND } as const;

export const FAULT_ROWS: readonly FaultRow[] = [
  {
    ...unreached,
    id: "F01",
    what: "the connection is refused",
    money: "none",
    first: "closed port",
    retryable: true,
  },
  {
    ...unreached,
    id: "F02",
    what: "the name does not resolve",
    money: "none",
    first: "no such host",
    stream: true,
  },
  {
    ...unreached,
    id: "F03",
    what: "the certificate is bad",
    money: "none",
    first: "bad certificate",
  },
  {
    ...chatStream,
    ...fromSecond,
    id: "F04",
    money: "observed",
    what: "the first provider refuses the connection, the second answers",
    first: "closed port",
  },
  {
    ...unreached,
    id: "F05",
    what: "a reset inside the response headers",
    money: "none",
    fault: "reset:headers",
  },
  {
    ...chatStream,
    ...timedOut,
    id: "F06",
    what: "a stream whose headers never come",
    fault: "hang:headers",
    headers: { ...TIMED_OUT, "x-tm-upstream-status": null },
  },
  {
    ...messagesStream,
    ...fromSecond,
    id: "F07",
    money: "observed",
    what: "the first provider never sends headers, the second answers",
    fault: "hang:headers",
  },
  {
    ...chat,
    ...timedOut,
    id: "F08",
    what: "a whole answer that never comes",
    fault: "hang:headers",
    headers: TIMED_OUT,
  },
  {
    ...chat,
    ...timedOut,
    id: "F09",
    what: "a whole answer that drips and is never complete",
    fault: "drip:20",
    headers: TIMED_OUT,
  },
  {
    ...chat,
    id: "F10",
    what: "a reset inside a whole answer",
    money: "none",
    fault: "reset:body:40",
    status: 502,
    class: "upstream_error",
    headers: { ...TIMED_OUT, "x-tm-upstream-status": "200" },
  },
  {
    ...chat,
    id: "F11",
    what: "content-length is larger than the body",
    money: "none",
    fault: "wrong_length:50",
    status: 502,
    class: "upstream_error",
    headers: TIMED_OUT,
  },
  {
    ...chatStream,
    ...fromSecond,
    id: "F12",
    money: "observed",
    what: "a stream is closed before any output, the second provider answers",
    fault: "reset:event:0",
  },
  {
    ...chatStream,
    ...died,
    id: "F13",
    what: "a wire_a stream is reset after its output started",
    fault: "hold:event:3;reset:event:3",
    second: true,
  },
  {
    ...messagesStream,
    ...died,
    id: "F14",
    what: "a wire_b stream is reset after its output started",
    fault: "hold:event:5;reset:event:5",
    second: true,
  },
  {
    ...chatStream,
    ...died,
    id: "F15",
    what: "a stream ends cleanly without its end mark",
    fault: "hold:event:3;no_terminal",
    second: true,
  },
  {
    ...chat,
    ...unusable,
    id: "F16",
    what: "a whole answer that is not JSON",
    second: true,
    fault: "bad_json_at_event:0",
    headers: { ...UNUSABLE, "x-tm-upstream-status": "200" },
  },
  {
    ...chat,
    ...unusable,
    id: "F17",
    what: "a whole answer that is not UTF-8",
    second: true,
    fault: "bad_utf8",
  },
  {
    ...messagesStream,
    ...died,
    id: "F18",
    what: "one malformed event after output started",
    fault: "hold:event:5;bad_json_at_event:5",
    class: "gateway_error",
    second: true,
  },
  {
    ...chatStream,
    ...died,
    id: "F19",
    what: "a stream that never ends",
    maxTokens: 8,
    fault: "hold:event:3;endless",
  },
  {
    ...chatStream,
    ...unusable,
    id: "F20",
    what: "one line of 100 MB",
    second: true,
    fault: "long_line:104857600",
  },
  {
    ...chat,
    id: "F21",
    what: "an answer without usage",
    fault: "no_usage",
    status: 200,
    class: null,
    headers: SERVED,
    money: "none",
  },
  {
    ...chatStream,
    id: "F22",
    what: "a stream without usage",
    fault: "no_usage",
    status: 200,
    class: null,
    headers: SERVED,
    money: "none",
  },
  {
    ...chat,
    id: "F23",
    what: "an error with an unknown code in a 200",
    money: "none",
    first: "odd error",
    status: 502,
    class: "upstream_error",
    headers: { ...TIMED_OUT, "x-tm-upstream-status": "200" },
  },
  {
    ...chat,
    id: "F23b",
    what: "an error with a known code in a 200",
    money: "none",
    fault: "error_in_200",
    status: 500,
    class: "upstream_error",
    headers: { ...TIMED_OUT, "x-tm-upstream-status": "200" },
  },
  {
    ...chat,
    ...fromSecond,
    id: "F23c",
    money: "observed",
    what: "an error in a 200, the second provider answers",
    fault: "error_in_200",
  },
  {
    ...chat,
    ...unusable,
    id: "F24",
    what: "an HTML page in a 200",
    second: true,
    fault: "body:html",
  },
  {
    ...chat,
    ...unusable,
    id: "F25",
    what: "a decompression bomb",
    second: true,
    fault: "gzip_bomb",
  },
  {
    ...chat,
    id: "F26",
    what: "the provider's own 500",
    fault: "status:500",
    money: "none",
    status: 500,
    class: "upstream_error",
    retryable: true,
    headers: { ...TIMED_OUT, "x-tm-upstream-status": "500" },
  },
  {
    ...chat,
    id: "F27",
    cools: true,
    what: "a 429 that asks for 300 seconds",
    money: "none",
    fault: "status:429;retry_after:300",
    status: 429,
    class: "rate_limit",
    headers: {
      "x-tm-error-code": "rate_limit",
      "x-tm-error-origin": "upstream",
      "x-tm-attempts": "1",
      "x-tm-upstream-status": "429",
      "retry-after": "60",
    },
  },
  {
    ...chatStream,
    ...fromSecond,
    id: "F28",
    cools: true,
    money: "observed",
    what: "a 429, the second provider answers",
    fault: "status:429",
  },
  {
    ...chat,
    id: "F29",
    what: "a 401 on the marketplace's own key",
    money: "none",
    fault: "status:401",
    status: 401,
    class: "auth",
    retryable: false,
    headers: {
      "x-tm-error-code": "auth",
      "x-tm-error-origin": "upstream",
      "x-tm-upstream-status": "401",
      "x-tm-attempts": "1",
      "x-should-retry": "false",
    },
  },
  {
    ...chat,
    id: "F30",
    what: "a 400 that rejects the request",
    money: "none",
    second: true,
    fault: "status:400",
    status: 400,
    class: "upstream_error",
    retryable: false,
    headers: { ...TIMED_OUT, "x-tm-upstream-status": "400" },
  },
  {
    ...messages,
    id: "F31",
    what: "a prompt that is too long",
    money: "none",
    second: true,
    fault: "context_overflow",
    status: 400,
    class: "context_overflow",
    retryable: false,
    headers: {
      "x-tm-error-code": "context_overflow",
      "x-tm-attempts": "1",
      "x-tm-upstream-status": "400",
    },
  },
  {
    ...chatStream,
    id: "F32",
    what: "a refusal by the provider's content filter",
    money: "none",
    second: true,
    fault: "content_filter",
    status: 400,
    class: "content_policy",
    retryable: false,
    headers: {
      "x-tm-error-code": "content_policy",
      "x-tm-attempts": "1",
      "x-tm-upstream-status": "400",
    },
  },
];
