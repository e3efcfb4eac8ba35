import type { Principal } from "../accounts/principal.ts";
import { assert, type MicroUsd, type Refusal, type RequestId } from "../../kernel/index.ts";
import type { Output, WholeBody } from "../../formats/index.ts";
import type { RequestTrace } from "./trace.ts";

/** Values of answer headers that `call` sets. `http` adds ids, CORS and error headers. */
export interface ServedHeaders {
  readonly provider?: string;
  readonly attempts?: number;
  readonly remainingRequests?: number;
  readonly remainingTokens?: number;
  readonly queueMs?: number;
  readonly droppedParams?: readonly string[];
  readonly estimate?: "local";
  readonly fileName?: string;
}

/** One request of a client and the means to answer it; over a socket, or inside this process. */
export interface ClientExchange {
  readonly requestId: RequestId;
  readonly principal: Principal;
  /** The documented path of the route, such as `/v1/models/{id}`. */
  readonly route: string;
  readonly body: Buffer;
  /** The client's IP address; undefined if unknown, such as after its connection has closed. */
  readonly clientAddress: string | undefined;
  /** False for a HEAD request, whose answer ends after its headers. */
  readonly wantsBody: boolean;
  /** Monotonic start of the gateway's own latency: arrival plus the time to read the body. */
  readonly ownTimeFromMs: number;
  /** Returns the value of a request header; `name` is in lower case. */
  header(name: string): string | undefined;
  readonly gone: boolean;
  /** True once a status line was written; from then on no other provider can be tried. */
  readonly committed: boolean;
  /** Sets the only listener. It runs once if the client disconnects before the answer ends. */
  onGone(listener: () => void): void;
  /** Sets the only listener. It runs when the client can take bytes again after a false `write`. */
  onWritable(listener: () => void): void;
  begin(contentType: string, headers: ServedHeaders): void;
  /** Begins an answer that passes a provider's file on. Names in `headers` are in lower case. */
  relay(status: number, headers: Readonly<Record<string, string>>, served: ServedHeaders): void;
  /** Returns false if the client reads slowly; the bytes are buffered all the same. */
  write(output: Output): boolean;
  end(last: Output): void;
  /** Breaks the connection, so that an unfinished answer cannot be mistaken for a complete one. */
  cut(): void;
  answer(contentType: string, headers: ServedHeaders, body: WholeBody): void;
  /** Answers with an HTTP error in the format of the path's wire. */
  refuse(refusal: Refusal, headers?: ServedHeaders): void;
  readonly trace?: RequestTrace | undefined;
  /** Reports the total debit before the last bytes of the answer are sent. */
  settled?(debitMicroUsd: MicroUsd): void;
  brokeOff?(): void;
  /** The reason is logged, never sent to the client. */
  unreached?(provider: string, reason: string): void;
}

/** One request of a client, over a socket or inside this process, and how it ended. */
export abstract class Exchange {
  readonly requestId: RequestId;
  readonly route: string;
  readonly trace: RequestTrace | undefined;
  served: ServedHeaders = {};
  refusal: Refusal | undefined;
  isStream = false;
  hasBroken = false;
  /** `provider: reason` for each provider that could not be reached. */
  readonly unreachedProviders: string[] = [];
  #principal: Principal | undefined;

  constructor({ requestId, route, trace }: Pick<Exchange, "requestId" | "route" | "trace">) {
    this.requestId = requestId;
    this.route = route;
    this.trace = trace;
  }

  abstract get gone(): boolean;

  abstract header(name: string): string | undefined;

  get principal(): Principal {
    assert(this.#principal !== undefined, "the key was accepted before a call is served");
    return this.#principal;
  }

  accept(principal: Principal): void {
    this.#principal = principal;
    this.trace?.accepted(principal, this.header("traceparent"));
  }

  unreached(provider: string, reason: string): void {
    this.unreachedProviders.push(`${provider}: ${reason}`);
  }

  brokeOff(): void {
    this.hasBroken = true;
  }
}
