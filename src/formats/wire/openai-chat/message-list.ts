import type { JsonText } from "../../../kernel/index.ts";
import type { AssistantPart, Message, ToolResult } from "../neutral/chat-call.ts";
import type { TranslationIssues } from "../neutral/translation-issues.ts";

interface OpenUserMessage {
  readonly role: "user";
  readonly results: ToolResult[];
  readonly texts: JsonText[];
}

interface OpenAssistantMessage {
  readonly role: "assistant";
  readonly parts: AssistantPart[];
}

/**
 * Joins neighbouring messages of one side to one turn: wire_b wants all results of a round in one
 * message. Empty messages vanish into a neighbour; a user message without one is refused.
 */
export class MessageList {
  readonly #notes: TranslationIssues;
  readonly #messages: (OpenUserMessage | OpenAssistantMessage)[] = [];
  /** Place of an empty user message that has found no neighbour yet. */
  #emptyPath: string | undefined;

  constructor(notes: TranslationIssues) {
    this.#notes = notes;
  }

  addUserTexts(texts: readonly JsonText[], path: string): void {
    if (texts.length > 0) append(this.#userMessage().texts, texts);
    else if (this.#messages.at(-1)?.role !== "user") this.#emptyPath = path;
  }

  addResult(result: ToolResult): void {
    this.#userMessage().results.push(result);
  }

  addAssistant(parts: readonly AssistantPart[]): void {
    if (parts.length === 0) return;
    this.#refuseEmpty();
    const last = this.#messages.at(-1);
    if (last?.role === "assistant") append(last.parts, parts);
    else this.#messages.push({ role: "assistant", parts: [...parts] });
  }

  finish(): readonly Message[] {
    this.#refuseEmpty();
    return this.#messages;
  }

  #userMessage(): OpenUserMessage {
    this.#emptyPath = undefined;
    const last = this.#messages.at(-1);
    if (last?.role === "user") return last;
    const message: OpenUserMessage = { role: "user", results: [], texts: [] };
    this.#messages.push(message);
    return message;
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
