import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  objectText,
  textToken,
} from "../../json/index.ts";
import {
  type Check,
  isBoolean,
  isFilledText,
  isText,
  problem,
  type Problem,
  under,
} from "../../wire/index.ts";
import {
  areExamples,
  areFields,
  isCount,
  isEntityConfig,
  isFraction,
  isRelationConfig,
  labelsOf,
} from "./gliner-checks.ts";
import type { Members } from "./members.ts";
import type { Question } from "./question.ts";
import { namedText } from "./read-question.ts";

export type GlinerQuestion = Extract<Question, { readonly wire: "gliner" }>;

/** A type of GLiNER question. Its members come under their first names, from either form. */
export interface GlinerType {
  readonly type: string;
  readonly kind: GlinerQuestion["kind"];
  /** Which members it takes, and of what shape. */
  readonly takes: ReadonlyMap<string, Check>;
  readonly requires?: "labels" | "fields";
  /** Checked members in the terms of the public form. */
  readonly lower: (doc: JsonDocument, members: Members, name: string) => JsonText;
}

/** What is wrong with the members of a question of this type. */
export function checkType(
  doc: JsonDocument,
  members: Members,
  { type, takes, requires }: GlinerType,
): Problem | undefined {
  for (const [name, { sent, node }] of members) {
    const check = takes.get(name);
    if (check === undefined) return problem(`the type ${type} does not accept this field`, sent);
    const found = check(doc, node);
    if (found !== undefined) return under(sent, found);
  }
  return requires === undefined || members.has(requires)
    ? undefined
    : problem("required", requires);
}

export const classification: GlinerType = {
  type: "classification",
  kind: "classification",
  takes: checks({
    labels: labelsOf(2, isText),
    multi_label: isBoolean,
    threshold: isFraction,
    top_k: isCount,
    instructions: isFilledText,
    examples: areExamples,
  }),
  requires: "labels",
  lower: lowerTask,
};

/** A classification whose labels are `yes` and `no`. */
const yesOrNo: GlinerType = {
  type: "boolean",
  kind: "classification",
  takes: checks({ threshold: isFraction, instructions: isFilledText, examples: areExamples }),
  lower: lowerTask,
};

export const entities: GlinerType = {
  type: "entities",
  kind: "entities",
  takes: checks({ labels: labelsOf(1, isEntityConfig), threshold: isFraction }),
  requires: "labels",
  lower: lowerSpans,
};

export const relations: GlinerType = {
  type: "relations",
  kind: "relations",
  takes: checks({ labels: labelsOf(1, isRelationConfig), threshold: isFraction }),
  requires: "labels",
  lower: lowerSpans,
};

export const structure: GlinerType = {
  type: "structure",
  kind: "structure",
  takes: checks({ fields: areFields }),
  requires: "fields",
  lower: (doc, members) => objectText({ fields: raw(doc, members, "fields") }),
};

/** By the word that a question says what it is with. */
export const glinerTypes: ReadonlyMap<string, GlinerType> = new Map(
  [classification, yesOrNo, entities, relations, structure].map((each) => [each.type, each]),
);

function checks(fields: Readonly<Record<string, Check>>): ReadonlyMap<string, Check> {
  return new Map(Object.entries(fields));
}

function raw(doc: JsonDocument, members: Members, name: string): JsonText | undefined {
  const member = members.get(name);
  return member === undefined ? undefined : doc.raw(member.node);
}

function lowerTask(doc: JsonDocument, members: Members, name: string): JsonText {
  return objectText({
    task: textToken(name),
    labels: raw(doc, members, "labels") ?? '["yes","no"]',
    multi_label: raw(doc, members, "multi_label"),
    cls_threshold: raw(doc, members, "threshold"),
    top_k: raw(doc, members, "top_k"),
    prompt: raw(doc, members, "instructions"),
    examples: raw(doc, members, "examples"),
  });
}

/** The public form has no threshold for all labels of a kind: each label gets it. */
function lowerSpans(doc: JsonDocument, members: Members): JsonText {
  const labels = members.get("labels")?.node ?? ABSENT;
  const threshold = raw(doc, members, "threshold");
  if (threshold === undefined) return doc.raw(labels);
  if (doc.isArray(labels)) {
    return namedText(
      doc.items(labels).map((label) => [doc.text(label), objectText({ threshold })]),
    );
  }
  return namedText(
    doc.keys(labels).map((key) => [doc.text(key), withThreshold(doc, doc.valueOf(key), threshold)]),
  );
}

/** A threshold of the label's own stays. */
function withThreshold(doc: JsonDocument, config: JsonNode, threshold: JsonText): JsonText {
  if (doc.isString(config)) return objectText({ description: doc.raw(config), threshold });
  const members = new Map([["threshold", threshold]]);
  for (const key of doc.keys(config)) {
    const value = doc.valueOf(key);
    if (!doc.isNull(value)) members.set(doc.text(key), doc.raw(value));
  }
  return namedText(members);
}
