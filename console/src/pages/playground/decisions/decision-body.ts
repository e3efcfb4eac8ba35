/** A question as typed. Fields that the question's type does not use are ignored. */
export interface QuestionDraft {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly instructions: string;
  /** One label or level per line. It may be followed by a colon and its meaning. */
  readonly labels: string;
  readonly min: string;
  readonly max: string;
  readonly isMulti: boolean;
}

export interface DecisionDraft {
  readonly isJsonState: boolean;
  readonly state: string;
  readonly questions: readonly QuestionDraft[];
}

export type DecisionWire = "systemone" | "gliner";

export interface DraftProblem {
  readonly field: "state" | "questions" | "name" | "labels" | "range";
  readonly questionId?: string;
  readonly message: string;
}

interface QuestionType {
  readonly value: string;
  readonly label: string;
  readonly needs: "nothing" | "labels" | "range";
}

/** The types of questions of each API format for decisions, and the fields that each type needs. */
export const QUESTION_TYPES: Readonly<Record<DecisionWire, readonly QuestionType[]>> = {
  systemone: [
    { value: "boolean", label: "Yes or no", needs: "nothing" },
    { value: "enum", label: "One of several labels", needs: "labels" },
    { value: "choice", label: "One of several described labels", needs: "labels" },
    { value: "integer", label: "A whole number on a scale", needs: "range" },
    { value: "number", label: "A number on a scale", needs: "range" },
    { value: "score", label: "A score between levels", needs: "labels" },
    { value: "box", label: "A location in the image", needs: "nothing" },
  ],
  gliner: [
    { value: "classification", label: "Classification", needs: "labels" },
    { value: "boolean", label: "Yes or no", needs: "nothing" },
    { value: "entities", label: "Entities in the text", needs: "labels" },
    { value: "relations", label: "Relations between entities", needs: "labels" },
    { value: "structure", label: "Records with these fields", needs: "labels" },
  ],
};

export function decisionBody(
  modelId: string,
  wire: DecisionWire,
  draft: DecisionDraft,
): { readonly body: Readonly<Record<string, unknown>> } | DraftProblem {
  const state = readState(draft);
  if ("message" in state) return state;
  if (draft.questions.length === 0) {
    return { field: "questions", message: "Ask at least one question." };
  }
  const questions: Record<string, object> = {};
  for (const question of draft.questions) {
    const name = question.name.trim();
    const questionId = question.id;
    if (name === "") return { field: "name", questionId, message: "Give the question a name." };
    if (Object.hasOwn(questions, name)) {
      return { field: "name", questionId, message: "Another question already has this name." };
    }
    const problem = fieldsProblem(wire, question);
    if (problem !== undefined) return { ...problem, questionId };
    questions[name] = wire === "systemone" ? systemoneQuestion(question) : glinerQuestion(question);
  }
  return { body: { model: modelId, state: state.value, questions } };
}

function fieldsProblem(
  wire: DecisionWire,
  { type, labels, min, max }: QuestionDraft,
): Omit<DraftProblem, "questionId"> | undefined {
  const needs = QUESTION_TYPES[wire].find(({ value }) => value === type)?.needs;
  if (needs === "range") {
    const isRange = min.trim() !== "" && max.trim() !== "" && Number(min) < Number(max);
    if (isRange) return undefined;
    return { field: "range", message: "The scale needs a minimum and a larger maximum." };
  }
  if (needs !== "labels") return undefined;
  const [least, word] = wire === "systemone" || type === "classification" ? [2, "two"] : [1, "one"];
  return parseLabels(labels).length >= least
    ? undefined
    : { field: "labels", message: `Enter at least ${word}, one per line.` };
}

export function takesInstructions(wire: DecisionWire, type: string): boolean {
  return wire === "systemone" || type === "classification" || type === "boolean";
}

function readState(draft: DecisionDraft): { readonly value: unknown } | DraftProblem {
  if (draft.state.trim() === "") {
    return { field: "state", message: "Enter the state the questions are about." };
  }
  if (!draft.isJsonState) return { value: draft.state };
  try {
    const value: unknown = JSON.parse(draft.state);
    if (typeof value === "string" || (typeof value === "object" && value !== null)) {
      return { value };
    }
    return { field: "state", message: "The state must be an object, an array, or text." };
  } catch {
    return { field: "state", message: "This is not valid JSON." };
  }
}

function systemoneQuestion(draft: QuestionDraft): object {
  return { schema: toSchema(draft), ...instructionsOf(draft) };
}

function toSchema({ type, min, max, ...draft }: QuestionDraft): object {
  const labels = parseLabels(draft.labels);
  const names = labels.map(({ label }) => label);
  switch (type) {
    case "enum":
      return { type, values: names };
    case "choice":
      return {
        type,
        criteria: Object.fromEntries(labels.map(({ label, meaning }) => [label, meaning])),
      };
    case "score":
      return { type, criteria: names };
    case "integer":
    case "number":
      return { type, min: Number(min), max: Number(max) };
    default:
      return { type };
  }
}

function glinerQuestion({ type, isMulti, ...draft }: QuestionDraft): object {
  const labels = parseLabels(draft.labels).map(({ label }) => label);
  switch (type) {
    case "classification":
      return { type, labels, ...(isMulti && { multi_label: true }), ...instructionsOf(draft) };
    case "boolean":
      return { type, ...instructionsOf(draft) };
    case "structure":
      return { type, fields: labels.map((name) => ({ name })) };
    default:
      return { type, labels };
  }
}

function instructionsOf(draft: Pick<QuestionDraft, "instructions">): object {
  const instructions = draft.instructions.trim();
  return instructions === "" ? {} : { instructions };
}

interface Label {
  readonly label: string;
  readonly meaning: string | null;
}

function parseLabels(text: string): readonly Label[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const [, label, meaning] = /^([^:]+):\s*(.+)$/.exec(line) ?? [];
      return label === undefined || meaning === undefined
        ? { label: line, meaning: null }
        : { label: label.trim(), meaning };
    });
}
