import { type JsonDocument, type JsonNode, NUMBER_KIND } from "../../json/index.ts";
import {
  type Check,
  isText,
  listOf,
  problem,
  type Problem,
  under,
  word,
} from "../../wire/index.ts";
import { isProblem, readMembers, spellings } from "./members.ts";
import { isLabel, readLabels, duplicate, countProblem, labelProblem } from "./read-question.ts";

export const isFraction: Check = (doc, node) => {
  const value = doc.kind(node) === NUMBER_KIND ? doc.number(node) : NaN;
  return value >= 0 && value <= 1 ? undefined : notFraction;
};
const notFraction = problem("must be a number from 0 to 1");

export const isCount: Check = (doc, node) => {
  const value = doc.kind(node) === NUMBER_KIND ? doc.number(node) : NaN;
  return Number.isInteger(value) && value >= 1 ? undefined : notCount;
};
const notCount = problem("must be a whole number of at least 1");

/** Pairs of an input and its label. */
export const areExamples: Check = listOf(
  (doc, node) =>
    listOf(isText)(doc, node) ??
    (doc.items(node).length === 2 ? undefined : problem("must be an input and its label")),
);

/** At least `min` labels: an array, or an object whose values are descriptions. */
export function labelsOf(min: number, description: Check): Check {
  const bounds = { min, max: Infinity, noun: "label" };
  return (doc, node) => {
    if (!doc.isObject(node) && !doc.isArray(node)) return notLabels;
    const labels = doc.isObject(node)
      ? describedLabels(doc, node, description)
      : readLabels(doc, node);
    return isProblem(labels) ? labels : countProblem(labels.length, bounds);
  };
}

const notLabels = problem("must be an array of labels, or an object by label");

function describedLabels(
  doc: JsonDocument,
  object: JsonNode,
  description: Check,
): readonly string[] | Problem {
  const labels: string[] = [];
  for (const key of doc.keys(object)) {
    const label = doc.text(key);
    const found = labelProblem(label) ?? description(doc, doc.valueOf(key));
    if (found !== undefined) return under(label, found);
    labels.push(label);
  }
  return labels;
}

const isForm: Check = (doc, node) =>
  doc.isString(node) && ["str", "list"].includes(doc.text(node)) ? undefined : notForm;
const notForm = problem('must be "str" or "list"');

/** What may stand for the description of an entity or of a relation. */
export const isEntityConfig: Check = textOrObject({
  description: isText,
  dtype: isForm,
  threshold: isFraction,
});

export const isRelationConfig: Check = textOrObject({ description: isText, threshold: isFraction });

function textOrObject(fields: Readonly<Record<string, Check>>): Check {
  const object = closed(fields);
  return (doc, node) => {
    if (doc.isString(node)) return undefined;
    return doc.isObject(node) ? object(doc, node) : notDescription;
  };
}
const notDescription = problem("must be a description");

/** An object that takes these members and no others; null ones count as absent. */
function closed(fields: Readonly<Record<string, Check>>): Check {
  const checks = new Map(Object.entries(fields));
  const names = spellings(Object.fromEntries([...checks.keys()].map((name) => [name, name])));
  return (doc, node) => {
    const members = readMembers(doc, node, names);
    if (isProblem(members)) return members;
    for (const [name, member] of members) {
      const found = checks.get(name)?.(doc, member.node);
      if (found !== undefined) return under(name, found);
    }
    return undefined;
  };
}

const areChoices: Check = (doc, node) => {
  const choices = readLabels(doc, node);
  return isProblem(choices)
    ? choices
    : countProblem(choices.length, { min: 1, max: Infinity, noun: "choice" });
};

const field = closed({
  name: isLabel,
  dtype: isForm,
  choices: areChoices,
  description: isText,
  threshold: isFraction,
});

/** The fields of a structure, each with a name of its own. */
export const areFields: Check = (doc, node) => {
  const found = listOf(field)(doc, node);
  if (found !== undefined) return found;
  const names: string[] = [];
  for (const [index, item] of doc.items(node).entries()) {
    const name = doc.present(item, word.name);
    if (name < 0) return problem("required", index, "name");
    names.push(doc.text(name));
  }
  const same = duplicate(names);
  if (same !== undefined) return problem("this name is duplicated", same[1] - 1, "name");
  return countProblem(names.length, { min: 1, max: Infinity, noun: "field" });
};
