import {
  isAbsent,
  isObject,
  objectsOf,
  stringsOf,
  textOf,
  wordSet,
  type JsonObject,
} from "../json.ts";
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

/** What is wrong with a request, or what it asks for. */
export type GlinerReading = SimError | DecisionOrder<GlinerTask>;

const BODY_KEYS = wordSet(
  "model task text schema threshold include_confidence include_spans format_results",
);
const SCHEMA_KEYS = wordSet("entities classifications structures relations entity_attributes");
const TASK_KEYS = wordSet(
  "task labels multi_label cls_threshold top_k prompt examples label_descriptions",
);
const FIELD_KEYS = wordSet("name dtype choices description threshold");

/** The public form, and nothing beside it. */
export function readPublicGliner(body: JsonObject): GlinerReading {
  const { text, schema } = body;
  const extra = Object.keys(body).find((key) => !BODY_KEYS.has(key));
  if (extra !== undefined) return unprocessable(`${extra}: extra fields are not permitted`);
  if (typeof text !== "string" || text === "") return unprocessable("text: expected a string");
  if (!isObject(schema)) return unprocessable("schema: expected an object");
  const unknown = Object.keys(schema).find((key) => !SCHEMA_KEYS.has(key));
  if (unknown !== undefined) return unprocessable(`schema.${unknown}: not a section`);
  const complaint = optionComplaint(body) ?? sectionComplaint(schema);
  if (complaint !== undefined) return unprocessable(complaint);
  const tasks = publicTasks(schema);
  if (tasks.length === 0) return unprocessable("schema: nothing to do");
  const names = tasks.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return unprocessable(`schema: two results are named ${twice}`);
  return orderOf(
    body,
    text,
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

function optionComplaint(body: JsonObject): string | undefined {
  const { task, threshold } = body;
  if (!isAbsent(task) && typeof task !== "string") return "task: expected a string";
  const isShare = typeof threshold === "number" && threshold >= 0 && threshold <= 1;
  if (!isAbsent(threshold) && !isShare) return "threshold: expected a number from 0 to 1";
  return ["include_confidence", "include_spans", "format_results"]
    .filter((key) => !isAbsent(body[key]) && typeof body[key] !== "boolean")
    .map((key) => `${key}: expected a boolean`)[0];
}

function sectionComplaint(schema: JsonObject): string | undefined {
  const { entities, relations, classifications, structures } = schema;
  for (const [name, section] of Object.entries({ entities, relations })) {
    if (!isAbsent(section) && labelsOf(section).length === 0) return `schema.${name}: no labels`;
  }
  if (!isAbsent(classifications) && !Array.isArray(classifications)) {
    return "schema.classifications: expected a list";
  }
  if (!isAbsent(structures) && !isObject(structures)) return "schema.structures: expected a map";
  for (const task of objectsOf(classifications)) {
    const extra = Object.keys(task).find((key) => !TASK_KEYS.has(key));
    if (extra !== undefined) return `schema.classifications.${extra}: not a field`;
    if (textOf(task["task"]) === "") return "schema.classifications.task: required";
    if (labelsOf(task["labels"]).length < 2) return "schema.classifications.labels: at least 2";
  }
  for (const [name, structure] of Object.entries(isObject(structures) ? structures : {})) {
    const fields = isObject(structure) ? objectsOf(structure["fields"]) : [];
    const isGood = fields.length > 0 && fields.every(isField);
    if (!isGood) return `schema.structures.${name}.fields: not a list of fields`;
  }
  return undefined;
}

function isField(field: JsonObject): boolean {
  const dtype = field["dtype"];
  const isKnown = isAbsent(dtype) || dtype === "str" || dtype === "list";
  return (
    textOf(field["name"]) !== "" &&
    isKnown &&
    Object.keys(field).every((key) => FIELD_KEYS.has(key))
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
