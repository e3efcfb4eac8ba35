import {
  asObject,
  compactJson,
  findMember,
  findMembers,
  findPath,
  skipSpace,
  type Span,
  withMember,
  withoutMember,
} from "../../../kernel/index.ts";

/**
 * Replaces the model id and writes the cost into the usage of `text`, a JSON object. All other
 * bytes are unchanged. `missing` is the JSON of the usage, for an answer that has none.
 */
export function relayText(
  text: string,
  modelId: string,
): (usage: { readonly costUsd: string; readonly missing: string }) => string {
  const object = skipSpace(text, 0);
  const [model, usage] = findMembers(text, object, ["model", "usage"]);
  const modelEdit = replaceOrAdd(text, object, {
    span: model,
    key: "model",
    json: JSON.stringify(modelId),
  });
  return ({ costUsd, missing }) => {
    const usageEdit =
      usage !== undefined && text.charCodeAt(usage.start) === OPEN_OBJECT
        ? withCost(text, usage, costUsd)
        : replaceOrAdd(text, object, { span: usage, key: "usage", json: missing });
    return modelEdit.start <= usageEdit.start
      ? edited(text, modelEdit, usageEdit)
      : edited(text, usageEdit, modelEdit);
  };
}

/** The span of a JSON text that is one object. */
export function rootSpan(text: string): Span {
  return { start: skipSpace(text, 0), end: text.length };
}

export function withRootMember(text: string, key: string, json: string): string {
  return withMember(text, rootSpan(text), { key, json });
}

/** The JSON object at `span` without white space, digit for digit; `{}` for anything else. */
export function compactObject(text: string, span: Span | undefined): string {
  const json = span === undefined ? "" : compactJson(text.slice(span.start, span.end));
  return json.startsWith("{") ? json : "{}";
}

/**
 * Adds the members that official clients read without a check to the object that `find` finds.
 * `needed` has their JSON texts by key; `fields` is the parsed object. A present member is kept if
 * it has the type of the needed value, or if the needed value is null; else it is replaced.
 */
export function withNeeded(
  text: string,
  find: (text: string) => Span | undefined,
  fields: Readonly<Record<string, unknown>>,
  needed: Readonly<Record<string, string>>,
): string {
  const lacking = Object.keys(needed).filter((key) => !fits(fields[key], needed[key]));
  const object = lacking.length === 0 ? undefined : find(text);
  if (object === undefined) return text;
  // Edits within the object do not move its start.
  const { start } = object;
  return lacking.reduce((whole, key) => {
    const span = fields[key] === undefined ? undefined : findMember(whole, start, key);
    const edit = replaceOrAdd(whole, start, { span, key, json: needed[key] ?? "null" });
    return whole.slice(0, edit.start) + edit.json + whole.slice(edit.end);
  }, text);
}

function fits(value: unknown, json = "null"): boolean {
  if (json === "null") return value !== undefined;
  if (json.startsWith('"')) return typeof value === "string";
  if (json.startsWith("{")) return typeof value === "object" && value !== null;
  return typeof value === "number";
}

/** Members in which OpenRouter, xAI and DeepInfra state or explain their own price. */
const COST_DETAILS = ["cost_details", "cost_in_usd_ticks", "estimated_cost"];

/** Removes cost details: the client pays another amount. `usage` is the parsed object at `path`. */
export function withoutCostDetails(
  text: string,
  usage: unknown,
  ...path: readonly string[]
): string {
  const fields = asObject(usage) ?? {};
  if (COST_DETAILS.every((key) => fields[key] === undefined)) return text;
  return COST_DETAILS.reduce((kept, key) => {
    const object = findPath(kept, ...path);
    return object === undefined ? kept : withoutMember(kept, object, key);
  }, text);
}

const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

interface Edit extends Span {
  readonly json: string;
}

function withCost(text: string, usage: Span, costUsd: string): Edit {
  const [cost] = findMembers(text, usage.start, ["cost"]);
  return replaceOrAdd(text, usage.start, { span: cost, key: "cost", json: costUsd });
}

function replaceOrAdd(
  text: string,
  object: number,
  member: { readonly span: Span | undefined; readonly key: string; readonly json: string },
): Edit {
  if (member.span !== undefined) return { ...member.span, json: member.json };
  const at = object + 1;
  const comma = text.charCodeAt(skipSpace(text, at)) === CLOSE_OBJECT ? "" : ",";
  return { start: at, end: at, json: `"${member.key}":${member.json}${comma}` };
}

function edited(text: string, first: Edit, second: Edit): string {
  return (
    text.slice(0, first.start) +
    first.json +
    text.slice(first.end, second.start) +
    second.json +
    text.slice(second.end)
  );
}
