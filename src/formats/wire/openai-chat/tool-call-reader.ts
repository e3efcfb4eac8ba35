import {
  ANSWER_CALLS_MAX,
  asObject,
  JsonProgress,
  textOf,
  tryPrint,
} from "../../../kernel/index.ts";
import type { AnswerReading } from "../neutral/answer-reading.ts";
import type { ChatEvent } from "../neutral/chat-event.ts";
import { signedId } from "../neutral/tool-signatures.ts";
import { readSignature } from "./gemini-signature.ts";

type Emit = (event: ChatEvent) => void;

interface OpenCall {
  readonly call: number;
  id: string;
  name: string;
  signature: string;
  isStarted: boolean;
  /** Arguments that came before the name. */
  held: string;
  /** Are the arguments whole? Servers without indexes begin the next call then. */
  readonly progress: JsonProgress;
}

interface Fragment {
  readonly id: string;
  readonly name: string;
  readonly json: string;
}

/**
 * Tool call fragments to calls. Servers disagree on everything here: the index may be missing or
 * always 0, the id or the name may come late, names may be repeated in every fragment. The work of
 * a fragment does not grow with what came before it.
 */
export class ToolCallReader {
  readonly #byIndex = new Map<number, OpenCall>();
  readonly #byId = new Map<string, OpenCall>();
  readonly #calls: OpenCall[] = [];
  readonly #reading: AnswerReading;

  constructor(reading: AnswerReading) {
    this.#reading = reading;
  }

  /** Gives the number of the call that the fragment belongs to; undefined: it is no fragment, or one too many. */
  read(fragment: unknown, emit: Emit): number | undefined {
    const fields = asObject(fragment);
    const fn = asObject(fields?.["function"]);
    if (fields === undefined || this.hasTooManyCalls) return undefined;
    const id = textOf(fields["id"]);
    const name = textOf(fn?.["name"]);
    const json = argumentText(fn?.["arguments"]);
    const call = this.#find(fields["index"], { id, name, json });
    if (call.id === "" && !call.isStarted) this.#name(call, id);
    if (call.name === "") call.name = name;
    if (this.#reading.toolSignature !== undefined) call.signature ||= readSignature(fields);
    this.#advance(call, json, emit);
    return call.call;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** More than any answer asks for: what comes behind them is not read. */
  get hasTooManyCalls(): boolean {
    return this.#calls.length > ANSWER_CALLS_MAX;
  }

  /** A call with arguments for a tool that was never named cannot be handed on. */
  hasNamelessCall(): boolean {
    return this.#calls.some((call) => !call.isStarted && call.held !== "");
  }

  #find(index: unknown, fragment: Fragment): OpenCall {
    if (typeof index !== "number") return this.#findWithoutIndex(fragment.id, fragment.name);
    const known = this.#byIndex.get(index);
    if (known !== undefined && !isAnother(known, fragment)) return known;
    const opened = this.#open();
    this.#byIndex.set(index, opened);
    return opened;
  }

  #findWithoutIndex(id: string, name: string): OpenCall {
    const last = this.#calls.at(-1);
    if (last === undefined) return this.#open();
    if (id !== "") return this.#byId.get(id) ?? this.#open();
    const isNext = name !== "" && last.isStarted && last.progress.isWhole;
    return isNext ? this.#open() : last;
  }

  #name(call: OpenCall, id: string): void {
    call.id = id;
    if (id !== "" && !this.#byId.has(id)) this.#byId.set(id, call);
  }

  #open(): OpenCall {
    const call = {
      call: this.#calls.length,
      id: "",
      name: "",
      signature: "",
      isStarted: false,
      held: "",
      progress: new JsonProgress(),
    };
    this.#calls.push(call);
    return call;
  }

  #advance(call: OpenCall, json: string, emit: Emit): void {
    call.progress.accept(json);
    if (call.name === "") {
      call.held += json;
      return;
    }
    if (!call.isStarted) {
      call.isStarted = true;
      const id = call.signature === "" ? call.id : signedId(call);
      emit({ type: "tool_start", call: call.call, id, name: call.name });
    }
    const fresh = call.held + json;
    call.held = "";
    if (fresh !== "") emit({ type: "tool_arguments", call: call.call, json: fresh });
  }
}

/**
 * A named fragment with an id of its own is a new call, even at an index already in use; so is one
 * without an id that brings arguments to a call whose own are whole.
 */
function isAnother(known: OpenCall, { id, name, json }: Fragment): boolean {
  if (name === "") return false;
  if (id === "") return known.progress.isWhole && json.trim() !== "";
  return known.id !== "" && id !== known.id;
}

function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  // Some servers send the object itself.
  return asObject(value) === undefined ? "" : (tryPrint(value) ?? "");
}
