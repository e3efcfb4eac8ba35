import type { Principal } from "../accounts/principal.ts";
import type { MicroUsd, Refusal, RequestId } from "../../kernel/index.ts";
import type { Output, WholeBody } from "../../formats/index.ts";
import type { RequestTrace } from "./trace.ts";

/** Response headers that only a recipe knows; `http` adds ids, CORS and the error headers. */
export interface ServedHeaders {
  readonly provider?: string;
  readonly attempts?: number;
  readonly remainingRequests?: number;
  readonly remainingTokens?: number;
  readonly queueMs?: number;
  readonly droppedParams?: readonly string[];
  /** Marks an answer that the gateway estimated without asking a provider. */
  readonly estimate?: "local";
  /** The name under which a browser saves the answer. */
  readonly fileName?: string;
}

/**
 * One request of a client and the way back to it. `http` implements it over a socket; a recipe
 * writes to it and never sees the server.
 */
export interface ClientExchange {
  readonly requestId: RequestId;
  readonly principal: Principal;
  /** The route's path as listed, for records. */
  readonly route: string;
  readonly body: Buffer;
  /** Address of the client's end of the connection; undefined once it is gone. */
  readonly clientAddress: string | undefined;
  /** False: a HEAD request, whose answer ends with its headers. */
  readonly wantsBody: boolean;
  /**
   * The monotonic start of the gateway's own time: the first byte, plus the time in which the body
   * arrived.
   */
  readonly ownTimeFromMs: number;
  /** A request header by lower-case name. */
  header(name: string): string | undefined;
  /** The client went away before the answer ended. */
  readonly gone: boolean;
  /** The commit point: true once a status line was written. From then on there is one provider. */
  readonly committed: boolean;
  /** Sets the callback that runs once when the client goes away before the answer ended. */
  onGone(listener: () => void): void;
  /**
   * Sets the callback that runs whenever the client can take bytes again after a `write` said
   * false.
   */
  onWritable(listener: () => void): void;
  /** Writes the 200 with its headers: a stream. */
  begin(contentType: string, headers: ServedHeaders): void;
  /** Writes another status with these headers (names in lower case): a file that is passed on. */
  relay(status: number, headers: Readonly<Record<string, string>>, served: ServedHeaders): void;
  /** False when the client is slow; the bytes are taken all the same. */
  write(output: Output): boolean;
  /** The last bytes of a stream that has begun. */
  end(last: Output): void;
  /** Breaks the connection, so that an unfinished answer cannot be mistaken for a complete one. */
  cut(): void;
  /** A whole answer at once. */
  answer(contentType: string, headers: ServedHeaders, body: WholeBody): void;
  /** A refusal as an HTTP error in the shape of the path's wire. */
  refuse(refusal: Refusal, headers?: ServedHeaders): void;
  /** The trace of the request; undefined if no traces are exported. */
  readonly trace?: RequestTrace | undefined;
  /** Reports what all attempts of the call were debited, before its last bytes leave. */
  settled?(debitMicroUsd: MicroUsd): void;
  /** Reports that the answer had begun, and ends with an error. */
  brokeOff?(): void;
  /** Reports why a provider could not be reached: for the log, never for the client. */
  unreached?(provider: string, reason: string): void;
}
