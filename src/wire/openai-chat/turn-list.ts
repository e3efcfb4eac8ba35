import type { AssistantPart, ChatTurn, ToolResult } from "../neutral/chat-call.ts";
import type { CrossingNotes } from "../neutral/crossing-notes.ts";
import type { JsonText } from "../../json/json-text.ts";

interface OpenUserTurn {
  readonly role: "user";
  readonly results: ToolResult[];
  readonly texts: JsonText[];
}

interface OpenAssistantTurn {
  readonly role: "assistant";
  readonly parts: AssistantPart[];
}

/**
 * Joins neighbouring messages of one side to one turn: wire_b wants all results of a round in one
 * message. Empty messages vanish into a neighbour; a user message without one is refused.
 */
export class TurnList {
  readonly #notes: CrossingNotes;
  readonly #turns: (OpenUserTurn | OpenAssistantTurn)[] = [];
  /** Place of an empty user message that has found no neighbour yet. */
  #emptyPath: string | undefined;

  constructor(notes: CrossingNotes) {
    this.#notes = notes;
  }

  addUserTexts(texts: readonly JsonText[], path: string): void {
    if (texts.length > 0) append(this.#userTurn().texts, texts);
    else if (this.#turns.at(-1)?.role !== "user") this.#emptyPath = path;
  }

  addResult(result: ToolResult): void {
    this.#userTurn().results.push(result);
  }

  addAssistant(parts: readonly AssistantPart[]): void {
    if (parts.length === 0) return;
    this.#refuseEmpty();
    const last = this.#turns.at(-1);
    if (last?.role === "assistant") append(last.parts, parts);
    else this.#turns.push({ role: "assistant", parts: [...parts] });
  }

  finish(): readonly ChatTurn[] {
    this.#refuseEmpty();
    return this.#turns;
  }

  #userTurn(): OpenUserTurn {
    this.#emptyPath = undefined;
    const last = this.#turns.at(-1);
    if (last?.role === "user") return last;
    const turn: OpenUserTurn = { role: "user", results: [], texts: [] };
    this.#turns.push(turn);
    return turn;
  }

  #refuseEmpty(): void {
    if (this.#emptyPath === undefined) return;
    this.#notes.refuse(`${this.#emptyPath}.content`, "is empty; add text or leave it out");
    this.#emptyPath = undefined;
  }
}

/** Not `push(...more)`: a body can hold more parts than a call takes arguments. */
function append<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}
