import { textOf } from "../../../kernel/index.ts";
import { isAbsent, isObject, objectsOf, stringsOf, type JsonObject } from "../json.ts";
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
import { orderOf, type DecisionOrder } from "./decision-order.ts";
import { entriesOf, namesComplaint, unprocessable } from "./systemone-request.ts";

/** One thing to find in a text. */
export interface GlinerTask {
  /** Under which the result is put. */
  readonly name: string;
  readonly kind: "classification" | "entities" | "relations" | "structure";
  readonly labels: readonly string[];
  readonly isMulti: boolean;
  readonly fields: readonly { readonly name: string; readonly isList: boolean }[];
  readonly words: string;
}

/** The problem of a request, or its order. */
export type GlinerReading = SimError | DecisionOrder<GlinerTask>;

const LABELS = be("a label or more", (value) => labelsOf(value).length > 0);
const CLASSIFICATION = fields({
  ...any("multi_label cls_threshold top_k prompt examples label_descriptions"),
  "task!": filledText,
  "labels!": be("at least 2 labels", (value) => labelsOf(value).length >= 2),
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

/** The public form, and nothing beside it. */
export function readPublicGliner(body: JsonObject): GlinerReading {
  const { text: state, schema } = body;
  const tasks = isObject(schema) ? publicTasks(schema) : [];
  const complaint = BODY(body, "") ?? namesComplaint(tasks.map((task) => [task.name, task]));
  if (complaint !== undefined) return unprocessable(complaint);
  return orderOf(
    body,
    state,
    tasks.map((task) => [task, task.words]),
  );
}

/** The marketplace's grammar, taken as it comes. */
export function readSentGliner(body: JsonObject): GlinerReading {
  const state = body["state"] ?? body["text"];
  if (isAbsent(state) || state === "") return unprocessable("state: required");
  if (isAbsent(body["questions"]) && isObject(body["schema"])) {
    return readPublicGliner({ model: body["model"], text: state, schema: body["schema"] });
  }
  const entries = entriesOf(body["questions"]);
  const complaint = namesComplaint(entries);
  if (complaint !== undefined) return unprocessable(complaint);
  const tasks = entries.map(([name, raw]) => sentTask(name, raw));
  return orderOf(
    body,
    state,
    tasks.map((task) => [task, task.words]),
  );
}

function publicTasks(schema: JsonObject): readonly GlinerTask[] {
  const { entities, relations, classifications, structures } = schema;
  return [
    ...(isAbsent(entities) ? [] : [taskOf("entities", "entities", { labels: entities })]),
    ...objectsOf(classifications).map((raw) => taskOf(textOf(raw["task"]), "classification", raw)),
    ...Object.entries(isObject(structures) ? structures : {}).map(([name, raw]) =>
      taskOf(name, "structure", isObject(raw) ? raw : {}),
    ),
    ...(isAbsent(relations)
      ? []
      : [taskOf("relation_extraction", "relations", { labels: relations })]),
  ];
}

function sentTask(name: string, raw: JsonObject): GlinerTask {
  const type = textOf(raw["type"]) || textOf(raw["kind"]);
  if (type === "boolean") return taskOf(name, "classification", { ...raw, labels: ["yes", "no"] });
  const kind =
    type === "entities" || type === "relations" || type === "structure" ? type : "classification";
  return taskOf(name, kind, raw);
}

function taskOf(name: string, kind: GlinerTask["kind"], raw: JsonObject): GlinerTask {
  return {
    name,
    kind,
    labels: labelsOf(raw["labels"]),
    isMulti: raw["multi_label"] === true,
    fields: objectsOf(raw["fields"]).map((field) => ({
      name: textOf(field["name"]),
      isList: field["dtype"] === "list",
    })),
    words: JSON.stringify([kind, raw]),
  };
}

function labelsOf(labels: unknown): readonly string[] {
  return isObject(labels) ? Object.keys(labels) : stringsOf(labels);
}
