import type { Principal } from "../accounts/principal.ts";
import type { MicroUsd, Refusal, RequestId } from "../../kernel/index.ts";
import type { Output, WholeBody } from "../../formats/index.ts";
import type { RequestTrace } from "./trace.ts";

/** Response headers that the serving code sets; `http` adds ids, CORS and error headers. */
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
 * One request of a client and the means to answer it. `http` implements it over a socket; the
 * serving code never sees the server.
 */
export interface ClientExchange {
  readonly requestId: RequestId;
  readonly principal: Principal;
  /** The route's path as listed, for records. */
  readonly route: string;
  readonly body: Buffer;
  /** Address of the client's end of the connection; undefined once it is gone. */
  readonly clientAddress: string | undefined;
  /** False for a HEAD request, whose answer ends after its headers. */
  readonly wantsBody: boolean;
  /** Monotonic time of the first byte, plus the time in which the body arrived. */
  readonly ownTimeFromMs: number;
  /** A request header by lower-case name. */
  header(name: string): string | undefined;
  /** True if the client disconnected before the answer ended. */
  readonly gone: boolean;
  /** True once a status line was written; from then on no other provider can be tried. */
  readonly committed: boolean;
  /** Sets the callback that runs once if the client disconnects before the answer ends. */
  onGone(listener: () => void): void;
  /** Sets the callback that runs when the client can take bytes after `write` returned false. */
  onWritable(listener: () => void): void;
  /** Begins a stream: writes the 200 with its headers. */
  begin(contentType: string, headers: ServedHeaders): void;
  /** Begins a file that is passed through; `headers` have names in lower case. */
  relay(status: number, headers: Readonly<Record<string, string>>, served: ServedHeaders): void;
  /** Returns false if the client is slow; the bytes are buffered all the same. */
  write(output: Output): boolean;
  /** Ends a stream with its last bytes. */
  end(last: Output): void;
  /** Breaks the connection, so that an unfinished answer cannot be mistaken for a complete one. */
  cut(): void;
  /** Writes a whole answer at once. */
  answer(contentType: string, headers: ServedHeaders, body: WholeBody): void;
  /** Writes a refusal as an HTTP error in the format of the path's wire. */
  refuse(refusal: Refusal, headers?: ServedHeaders): void;
  /** The trace of the request; undefined if no traces are exported. */
  readonly trace?: RequestTrace | undefined;
  /** Reports the total debit of the call, before its last bytes are sent. */
  settled?(debitMicroUsd: MicroUsd): void;
  /** Reports that an answer that had begun ends with an error. */
  brokeOff?(): void;
  /** Reports why a provider could not be reached: for the log, never for the client. */
  unreached?(provider: string, reason: string): void;
}
