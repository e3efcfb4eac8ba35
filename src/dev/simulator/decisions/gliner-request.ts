import { textOf } from "../../../kernel/index.ts";
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
import { toOrder, type DecisionOrder } from "./decision-order.ts";
import { listEntries, namesComplaint, unprocessable } from "./systemone-request.ts";

export interface GlinerTask {
  readonly name: string;
  readonly kind: "classification" | "entities" | "relations" | "structure";
  readonly labels: readonly string[];
  readonly isMulti: boolean;
  readonly fields: readonly { readonly name: string; readonly isList: boolean }[];
  readonly words: string;
}

export type GlinerReading = SimError | DecisionOrder<GlinerTask>;

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

/** Reads a request in the host's public format. Refuses fields that this format does not have. */
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

/** Reads a request in the marketplace's format. Ignores fields that this format does not have. */
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
