import type { Principal } from "../../src/gateway/accounts/principal.ts";
import { WRITE_IDLE_TIMEOUT_MS } from "../../src/kernel/core/constants.ts";
import type { RequestId } from "../../src/kernel/core/ids.ts";
import type { Refusal } from "../../src/kernel/core/refusals.ts";
import type { ClientExchange, ServedHeaders } from "../../src/gateway/call/client-exchange.ts";
import type { Output } from "../../src/formats/wire/answer/answer-bridge.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";
import type { Actor, VirtualTime } from "./virtual-time.ts";

interface ClientEnvironment {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: Faults;
  note(line: string): void;
  fail(violation: string): void;
}

export interface ClientRequest {
  readonly number: number;
  readonly requestId: RequestId;
  readonly principal: Principal;
  readonly wire: keyof typeof ROUTES;
  readonly stream: boolean;
  readonly body: Buffer;
}

/** How the call ended, as far as the client knows. */
export type Ending = "answered" | "refused" | "broken off" | "left" | "lost with its instance";

const PATCH_MS = 30;
const ROUTES = {
  wire_a: "/v1/chat/completions",
  wire_b: "/v1/messages",
};

/** One client and its connection; it reads fast, slowly or not at all, and may leave early. */
export class SimulatedClient implements ClientExchange {
  readonly ownTimeFromMs = 0;
  readonly request: ClientRequest;
  readonly requestId: RequestId;
  readonly principal: Principal;
  readonly route: string;
  readonly body: Buffer;
  readonly clientAddress: string = "192.0.2.1";
  readonly wantsBody = true;
  gone = false;
  /** Undefined while the client waits. */
  ending: Ending | undefined;
  refusal: Refusal | undefined;
  received = "";
  readonly #simulation: ClientEnvironment;
  readonly #server: Actor;
  readonly #onEnded: (client: SimulatedClient) => void;
  readonly #isSlow: boolean;
  readonly #isStuck: boolean;
  #hasBegun = false;
  #isWriting = true;
  #goneListener: (() => void) | undefined;
  #writableListener: (() => void) | undefined;

  constructor(
    simulation: ClientEnvironment,
    server: Actor,
    request: ClientRequest,
    onEnded: (client: SimulatedClient) => void,
  ) {
    this.#simulation = simulation;
    this.#server = server;
    this.#onEnded = onEnded;
    this.request = request;
    this.requestId = request.requestId;
    this.principal = request.principal;
    this.route = ROUTES[request.wire];
    this.body = request.body;
    this.#isSlow = simulation.faults.strikes("client: reads slowly");
    this.#isStuck = simulation.faults.strikes("client: stops reading");
    if (simulation.faults.strikes("client: disconnects")) this.#leaveLater();
  }

  header(): undefined {
    return undefined;
  }

  onGone(listener: () => void): void {
    this.#goneListener = listener;
  }

  onWritable(listener: () => void): void {
    this.#writableListener = listener;
  }

  get committed(): boolean {
    return this.#hasBegun || this.ending === "answered" || this.ending === "refused";
  }

  begin(_contentType: string, _headers: ServedHeaders): void {
    if (this.#ignoresAnswer) return;
    if (this.#hasBegun) this.#simulation.fail("a response begins once");
    this.#hasBegun = true;
  }

  relay(): void {
    this.#simulation.fail("no file is asked for here");
  }

  write(output: Output): boolean {
    if (this.#ignoresAnswer) return true;
    if (!this.#hasBegun) this.#simulation.fail("bytes before the head of the response");
    this.received += output.toString();
    if (this.#isStuck) this.#stopReading();
    if (!this.#isSlow || !this.#isWriting) return this.#isWriting;
    this.#isWriting = false;
    const afterMs = this.#simulation.random.gapMs(PATCH_MS);
    this.#later(afterMs, "client takes more", () => {
      this.#isWriting = true;
      this.#writableListener?.();
    });
    return false;
  }

  end(last: Output): void {
    if (this.#ignoresAnswer) return;
    if (!this.#hasBegun) this.#simulation.fail("the end of a response that did not begin");
    this.received += last.toString();
    this.#end("answered");
  }

  cut(): void {
    this.#close("broken off");
  }

  answer(_contentType: string, _headers: ServedHeaders, body: Output): void {
    if (this.#ignoresAnswer) return;
    if (this.#hasBegun) this.#simulation.fail("a whole answer inside a stream");
    this.received = body.toString();
    this.#end("answered");
  }

  refuse(refusal: Refusal): void {
    if (this.#ignoresAnswer) return;
    // Over HTTP such a refusal would be dropped, and the client would wait forever.
    if (this.#hasBegun) this.#simulation.fail("a refusal inside a stream");
    this.refusal = refusal;
    this.#end("refused");
  }

  /** Does what the HTTP server does when `serveCall` throws. */
  crashed(refusal: Refusal): void {
    if (this.#hasBegun) this.cut();
    else this.refuse(refusal);
  }

  /** Ends the connection from the client's side. */
  leave(): void {
    this.#close("left");
  }

  lostItsServer(): void {
    if (this.ending === undefined) this.#end("lost with its instance");
  }

  /** True if a write has no effect: the client has left or the server process is dead. */
  get #ignoresAnswer(): boolean {
    if (this.ending === "answered" || this.ending === "refused") {
      this.#simulation.fail(`request ${this.request.number}: something follows the last bytes`);
    }
    return this.gone || this.#server.isDead;
  }

  #stopReading(): void {
    if (!this.#isWriting) return;
    this.#isWriting = false;
    this.#later(WRITE_IDLE_TIMEOUT_MS, "client reads no more", () => this.#close("left"));
  }

  #leaveLater(): void {
    const { random } = this.#simulation;
    const afterMs = random.pick([0, 1, random.between(1, 50), random.between(1, 3_000)]);
    this.#later(afterMs, "client leaves", () => this.leave());
  }

  #close(ending: Ending): void {
    if (this.ending !== undefined) return;
    this.gone = true;
    this.#end(ending);
    this.#goneListener?.();
  }

  #end(ending: Ending): void {
    this.ending = ending;
    this.#simulation.note(`  request ${this.request.number} ${ending}`);
    this.#onEnded(this);
  }

  #later(afterMs: number, label: string, run: () => void): void {
    this.#simulation.time.schedule(this.#server, afterMs, label, run);
  }
}
