import type { JsonDocument, JsonNode } from "../../json/index.ts";
import { problem, type Problem } from "../../wire/index.ts";
import type { ImagePart } from "./inspect-body.ts";
import { isProblem, type Members, quoted } from "./members.ts";
import { atEntry } from "./question-entries.ts";
import type { ReadQuestion } from "./read-question.ts";

/** What the questions are about. */
export interface DecisionState {
  readonly node: JsonNode;
  readonly images: number;
  /** Bytes of its JSON without inline base64. */
  readonly bytes: number;
}

/** The state of a checked body, which GLiNER bodies may call `text`. */
export function readState(
  doc: JsonDocument,
  body: Members,
  images: readonly ImagePart[],
): DecisionState | Problem {
  const sent = stateOf(doc, body);
  if (isProblem(sent)) return sent;
  const { node } = sent;
  const own = images.filter(({ isInState }) => isInState);
  const inlineBytes = own.reduce((sum, image) => sum + image.inlineBytes, 0);
  return { node, images: own.length, bytes: doc.end(node) - doc.start(node) - inlineBytes };
}

function stateOf(doc: JsonDocument, body: Members): { readonly node: JsonNode } | Problem {
  const state = body.get("state");
  const text = body.get("text");
  if (state === undefined) return text ?? problem("required", "state");
  if (text === undefined || isSameText(doc, state.node, text.node)) return state;
  return problem("differs from state; send one of them", "text");
}

function isSameText(doc: JsonDocument, state: JsonNode, text: JsonNode): boolean {
  return doc.isString(state) && doc.text(state) === doc.text(text);
}

/** Kinds whose answer points into a text: offsets in serialised JSON would mean nothing. */
const spanKinds: ReadonlySet<string> = new Set(["entities", "relations", "structure"]);

/** The first question whose kind does not fit the state. */
export function stateProblem(
  doc: JsonDocument,
  state: DecisionState,
  questions: readonly ReadQuestion[],
): Problem | undefined {
  for (const { question, entry } of questions) {
    const kind = `kind ${quoted(question.kind)} needs`;
    if (question.kind === "box" && state.images === 0) {
      return atEntry(entry, problem(`${kind} an image in state`));
    }
    if (spanKinds.has(question.kind) && !doc.isString(state.node)) {
      const got = doc.isArray(state.node) ? "an array" : "an object";
      return atEntry(entry, problem(`${kind} a text state, got ${got}`));
    }
  }
  return undefined;
}
