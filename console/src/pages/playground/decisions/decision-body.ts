/** A question as typed. Fields that the question's type does not use are ignored. */
export interface QuestionDraft {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly instructions: string;
  /** One label or level per line. A colon and a meaning may follow it. */
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

/** The types of questions of each API format for decisions, and the fields that each type needs. */
export const QUESTION_TYPES: Readonly<
  Record<
    DecisionWire,
    readonly {
      readonly value: string;
      readonly label: string;
      readonly needs: "nothing" | "labels" | "range";
    }[]
  >
> = {
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
    const made = wire === "systemone" ? systemoneQuestion(question) : glinerQuestion(question);
    if ("message" in made) return { ...made, questionId };
    questions[name] = made.question;
  }
  return { body: { model: modelId, state: state.value, questions } };
}

type Made = { readonly question: object } | Omit<DraftProblem, "questionId">;

function readState(draft: DecisionDraft): { readonly value: unknown } | DraftProblem {
  if (draft.state.trim() === "") {
    return { field: "state", message: "Enter the state the questions are about." };
  }
  if (!draft.isJsonState) return { value: draft.state };
  try {
    const value: unknown = JSON.parse(draft.state);
    if (typeof value === "string" || (typeof value === "object" && value !== null))
      return { value };
    return { field: "state", message: "The state must be an object, an array, or text." };
  } catch {
    return { field: "state", message: "This is not valid JSON." };
  }
}

function systemoneQuestion(draft: QuestionDraft): Made {
  const schema = toSchema(draft);
  if ("message" in schema) return schema;
  const instructions = draft.instructions.trim();
  return {
    question: { schema: schema.schema, ...(instructions === "" ? {} : { instructions }) },
  };
}

type Schema = { readonly schema: object } | Omit<DraftProblem, "questionId">;

function toSchema(draft: QuestionDraft): Schema {
  const labels = parseLabels(draft.labels);
  switch (draft.type) {
    case "enum":
      return labels.length < 2
        ? TWO_LABELS
        : { schema: { type: "enum", values: labels.map(({ label }) => label) } };
    case "choice": {
      const criteria = Object.fromEntries(labels.map(({ label, meaning }) => [label, meaning]));
      return labels.length < 2 ? TWO_LABELS : { schema: { type: "choice", criteria } };
    }
    case "score":
      return labels.length < 2
        ? TWO_LABELS
        : { schema: { type: "score", criteria: labels.map(({ label }) => label) } };
    case "integer":
    case "number": {
      const [min, max] = [Number(draft.min), Number(draft.max)];
      const isRange = draft.min.trim() !== "" && draft.max.trim() !== "" && min < max;
      return isRange
        ? { schema: { type: draft.type, min, max } }
        : { field: "range", message: "The scale needs a minimum and a larger maximum." };
    }
    default:
      return { schema: { type: draft.type } };
  }
}

function glinerQuestion(draft: QuestionDraft): Made {
  const labels = parseLabels(draft.labels);
  const names = labels.map(({ label }) => label);
  const instructions = draft.instructions.trim();
  const reported = instructions === "" ? {} : { instructions };
  switch (draft.type) {
    case "classification":
      if (names.length < 2) return TWO_LABELS;
      return {
        question: {
          type: "classification",
          labels: names,
          ...(draft.isMulti ? { multi_label: true } : {}),
          ...reported,
        },
      };
    case "boolean":
      return { question: { type: "boolean", ...reported } };
    case "structure":
      if (names.length === 0) return ONE_LABEL;
      return { question: { type: "structure", fields: names.map((name) => ({ name })) } };
    default:
      return names.length === 0 ? ONE_LABEL : { question: { type: draft.type, labels: names } };
  }
}

const TWO_LABELS = { field: "labels", message: "Enter at least two, one per line." } as const;
const ONE_LABEL = { field: "labels", message: "Enter at least one, one per line." } as const;

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
