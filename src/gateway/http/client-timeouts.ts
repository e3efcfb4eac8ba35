import {
  LINGER_MS,
  REQUEST_BODY_TIMEOUT_MS,
  REQUEST_HEADERS_TIMEOUT_MS,
  WRITE_IDLE_TIMEOUT_MS,
} from "../../kernel/index.ts";

/** How long a client may take before its connection is closed. */
export interface ClientTimeouts {
  /** From the first byte of a request to the end of its headers. */
  readonly headersMs: number;
  /** From the first byte of a request to the end of its body; at least `headersMs`. */
  readonly bodyMs: number;
  /** Longest time in which a client takes no byte of an answer. */
  readonly writeIdleMs: number;
  /** How long a connection that is being closed is read, so that its client sees the answer. */
  readonly lingerMs: number;
  /** Between two checks of all connections: headers and bodies may be late by that much. */
  readonly checkEveryMs: number;
}

/** What the program runs with; tests, which do not wait a minute, have others. */
export const CLIENT_TIMEOUTS: ClientTimeouts = {
  headersMs: REQUEST_HEADERS_TIMEOUT_MS,
  bodyMs: REQUEST_BODY_TIMEOUT_MS,
  writeIdleMs: WRITE_IDLE_TIMEOUT_MS,
  lingerMs: LINGER_MS,
  checkEveryMs: 5_000,
};
