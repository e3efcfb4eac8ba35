import type { Deployment } from "../../../catalog/index.ts";
import { OUTPUT_TOKENS_DEFAULT, type Result } from "../../../kernel/index.ts";
import type { ClientRequest, UpstreamRequest } from "../../wire/modality.ts";
import type { RequestCodec, TokenCounter, Wire } from "../../wire/contract.ts";
import { encodeSameWire } from "./encode-request.ts";
import { checkBody, parsedChatRequest, type ParsedChatRequest } from "./parse-request.ts";

/** The route of a wire that counts tokens; undefined where the wire has none. */
export function tokenCounting(wire: Wire): TokenCounting | undefined {
  const { tokenCounter } = wire;
  return tokenCounter && new TokenCounting(wire, tokenCounter);
}

export class TokenCounting {
  readonly wire: Wire;
  readonly counter: TokenCounter;
  readonly #codec: RequestCodec;

  constructor(wire: Wire, counter: TokenCounter) {
    this.wire = wire;
    this.counter = counter;
    // Counting writes no bound: a body without one goes as it is.
    this.#codec = { ...wire.requests, path: counter.path, editBody: () => undefined };
  }

  /**
   * Reads a body that needs no output bound, whatever bound it has. Thinking refuses nothing here,
   * because nothing is generated.
   */
  parse(client: ClientRequest): Result<{ readonly request: ParsedChatRequest }> {
    const checked = checkBody(this.#codec, client.body);
    if (!checked.ok) return checked;
    const body = { doc: checked.doc, outputTokens: OUTPUT_TOKENS_DEFAULT };
    return { ok: true, request: parsedChatRequest(this.wire, client, body) };
  }

  /** Can this deployment be asked? */
  isAnsweredBy(deployment: Deployment): boolean {
    return deployment.wire === this.wire.id;
  }

  /** The request that asks a deployment of the wire to count for itself. */
  encode(request: ParsedChatRequest, deployment: Deployment): UpstreamRequest {
    return encodeSameWire(this.#codec, request, deployment);
  }

  /** A guess at the input tokens, where no provider is asked. */
  estimate(request: ParsedChatRequest): number {
    return this.counter.estimate(request.doc);
  }
}
