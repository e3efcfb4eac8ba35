import { textOf, unreachable } from "../../../kernel/index.ts";
import { isAbsent, isObject, pickObjects, pickStrings, type JsonObject } from "../json.ts";
import {
  any,
  anything,
  be,
  decimal,
  fields,
  filledText,
  flag,
  listOf,
  mapOf,
  oneOf,
  text,
} from "../shape.ts";
import type { SimError } from "../sim-error.ts";
import { chance, chances, toOrder, type Asked, type DecisionOrder } from "./decision-order.ts";
import { listEntries, namesComplaint, unprocessable } from "./systemone.ts";

interface GlinerTask {
  readonly name: string;
  readonly kind: "classification" | "entities" | "relations" | "structure";
  readonly labels: readonly string[];
  readonly isMulti: boolean;
  readonly fields: readonly { readonly name: string; readonly isList: boolean }[];
  readonly words: string;
}

type GlinerReading = SimError | DecisionOrder<GlinerTask>;

const LABELS = be("a label or more", (value) => readLabels(value).length > 0);
const CLASSIFICATION = fields({
  ...any("multi_label cls_threshold top_k prompt examples label_descriptions"),
  "task!": filledText,
  "labels!": be("at least 2 labels", (value) => readLabels(value).length >= 2),
});
const FIELD = fields({
  ...any("choices description threshold"),
  "name!": filledText,
  dtype: oneOf("str list"),
});
const BODY = fields({
  ...any("model format_results"),
  task: text,
  "text!": filledText,
  threshold: decimal(0, 1),
  include_confidence: flag,
  include_spans: flag,
  "schema!": fields({
    entities: LABELS,
    relations: LABELS,
    entity_attributes: anything,
    classifications: listOf(CLASSIFICATION),
    structures: mapOf(fields({ "fields!": listOf(FIELD, 1) }, anything)),
  }),
});

/** Reads the provider's public format. Refuses unknown fields, except in a structure. */
export function readPublicGliner(body: JsonObject): GlinerReading {
  const { text: state, schema } = body;
  const tasks = isObject(schema) ? publicTasks(schema) : [];
  const complaint = BODY(body, "") ?? namesComplaint(tasks.map((task) => [task.name, task]));
  if (complaint !== undefined) return unprocessable(complaint);
  return toOrder(
    body,
    state,
    tasks.map((task) => [task, task.words]),
  );
}

/** Reads a request in the marketplace's format. Ignores fields that this format lacks. */
export function readSentGliner(body: JsonObject): GlinerReading {
  const state = body["state"] ?? body["text"];
  if (isAbsent(state) || state === "") return unprocessable("state: required");
  if (isAbsent(body["questions"]) && isObject(body["schema"])) {
    return readPublicGliner({ model: body["model"], text: state, schema: body["schema"] });
  }
  const entries = listEntries(body["questions"]);
  const complaint = namesComplaint(entries);
  if (complaint !== undefined) return unprocessable(complaint);
  const tasks = entries.map(([name, raw]) => sentTask(name, raw));
  return toOrder(
    body,
    state,
    tasks.map((task) => [task, task.words]),
  );
}

function publicTasks(schema: JsonObject): readonly GlinerTask[] {
  const { entities, relations, classifications, structures } = schema;
  return [
    ...(isAbsent(entities) ? [] : [readTask("entities", "entities", { labels: entities })]),
    ...pickObjects(classifications).map((raw) =>
      readTask(textOf(raw["task"]), "classification", raw),
    ),
    ...Object.entries(isObject(structures) ? structures : {}).map(([name, raw]) =>
      readTask(name, "structure", isObject(raw) ? raw : {}),
    ),
    ...(isAbsent(relations)
      ? []
      : [readTask("relation_extraction", "relations", { labels: relations })]),
  ];
}

function sentTask(name: string, raw: JsonObject): GlinerTask {
  const type = textOf(raw["type"]) || textOf(raw["kind"]);
  if (type === "boolean")
    return readTask(name, "classification", { ...raw, labels: ["yes", "no"] });
  const kind =
    type === "entities" || type === "relations" || type === "structure" ? type : "classification";
  return readTask(name, kind, raw);
}

function readTask(name: string, kind: GlinerTask["kind"], raw: JsonObject): GlinerTask {
  return {
    name,
    kind,
    labels: readLabels(raw["labels"]),
    isMulti: raw["multi_label"] === true,
    fields: pickObjects(raw["fields"]).map((field) => ({
      name: textOf(field["name"]),
      isList: field["dtype"] === "list",
    })),
    words: JSON.stringify([kind, raw]),
  };
}

function readLabels(labels: unknown): readonly string[] {
  return isObject(labels) ? Object.keys(labels) : pickStrings(labels);
}

export function glinerResults(order: DecisionOrder<GlinerTask>): JsonObject {
  const { questions, stateText, options } = order;
  const shape = {
    confidence: options["include_confidence"] === true,
    spans: options["include_spans"] === true,
  };
  return Object.fromEntries(
    questions.map((task) => [task.name, answerTask(task, { stateText, words: task.words }, shape)]),
  );
}

interface Shape {
  readonly confidence: boolean;
  readonly spans: boolean;
}

function answerTask(task: GlinerTask, asked: Asked, shape: Shape): unknown {
  switch (task.kind) {
    case "classification":
      return answerClass(task, asked, shape);
    case "entities":
      return byLabel(task, (label) => [answerSpan(asked, label, shape)]);
    case "relations":
      return byLabel(task, (label) => [
        [answerSpan(asked, `${label} head`, shape), answerSpan(asked, `${label} tail`, shape)],
      ]);
    case "structure":
      return [
        Object.fromEntries(
          task.fields.map(({ name, isList }) => {
            const span = answerSpan(asked, name, shape);
            return [name, isList ? [span] : span];
          }),
        ),
      ];
    default:
      return unreachable(task.kind);
  }
}

function answerClass({ labels, isMulti }: GlinerTask, asked: Asked, shape: Shape): unknown {
  const likely = chances(asked, labels);
  const ranked = labels
    .map((label, at) => ({ label, confidence: likely[at] ?? 0 }))
    .sort((one, other) => other.confidence - one.confidence);
  const shown = ranked.map((each) => (shape.confidence ? each : each.label));
  return isMulti ? shown.slice(0, 2) : shown[0];
}

function byLabel({ labels }: GlinerTask, find: (label: string) => unknown): JsonObject {
  return Object.fromEntries(labels.map((label) => [label, find(label)]));
}

/* Answers with a word from the request's `state`; equal questions and labels get equal words. */
function answerSpan(asked: Asked, label: string, { confidence, spans }: Shape): unknown {
  const words = [...asked.stateText.matchAll(/[\p{L}\p{N}]+/gu)];
  const share = chance(asked, label);
  const found = words[Math.floor(share * words.length)];
  const [word] = found ?? [""];
  if (!confidence && !spans) return word;
  const start = found?.index ?? 0;
  return {
    text: word,
    ...(confidence && { confidence: share }),
    ...(spans && { start, end: start + word.length }),
  };
}
