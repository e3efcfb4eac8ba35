import { Option } from "commander";
import type { TSchema } from "typebox";

import type { CommandFace } from "../account/console-api/contract.ts";
import type { Operation } from "../account/console-api/operations.ts";
import type { Flags } from "./command-context.ts";
import { readText, readInstant } from "./read-flags.ts";

interface Shape {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

/** The names of a usage's arguments: `key show <key_id>` has `key_id`. */
export function argumentNames(usage: string): readonly string[] {
  return [...usage.matchAll(/[<[](\w+)[>\]]/g)].map(([, name = ""]) => name);
}

export type Field = readonly [name: string, shape: Shape, is: { readonly isRequired: boolean }];

export function commandFields(
  { params, query, body }: Operation["contract"],
  { typed = [] }: CommandFace,
): readonly Field[] {
  return [params, query, body].flatMap((schema) => {
    const { properties = {}, required: needed = [] } = (schema ?? {}) as Shape;
    return Object.entries(properties)
      .filter(([name]) => !typed.includes(name))
      .map(([name, shape]) => [name, shape, { isRequired: needed.includes(name) }] as const);
  });
}

export function hasField(schema: TSchema | undefined, name: string): boolean {
  return name in (((schema ?? {}) as Shape).properties ?? {});
}

/** Makes a field an option (`cap_usd` becomes `--cap-usd <text>`) with its description as help. */
export function fieldOption(name: string, shape: Shape, isRequired: boolean): Option {
  const made = new Option(`${flagName(name)}${VALUES[classifyShape(shape)]}`, describe(shape));
  made.makeOptionMandatory(isRequired);
  const choices = alternatives(shape).flatMap((each) => each.enum ?? []);
  return choices.length === 0 ? made : made.choices(choices);
}

const VALUES = { switch: "", list: " <list>", number: " <n>", text: " <text>" } as const;

export function flagName(field: string): string {
  return `--${field.replaceAll("_", "-")}`;
}

function describe(shape: Shape): string {
  const text = [shape, ...alternatives(shape)].find((each) => each.description)?.description ?? "";
  return classifyShape(shape) === "list" ? `${text}, with commas between them` : text;
}

export function readField(flags: Flags, field: Field, face: CommandFace): unknown {
  const text = readText(flags, field[0].replaceAll("_", "-"));
  return text === undefined
    ? undefined
    : readValue(text, field, { face, said: flagName(field[0]) });
}

/**
 * Converts a text into the value that the route takes. If a number is expected and the text is
 * none, the text stays as it is, and the schema refuses it.
 */
export function readValue(
  text: string,
  [name, shape]: Field,
  { face: { none = [] }, said }: { readonly face: CommandFace; readonly said: string },
): unknown {
  if (text === "none" && none.includes(name)) return null;
  switch (classifyShape(shape)) {
    case "switch":
      return true;
    case "list":
      return text
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
    case "number":
      return /^\d{1,15}$/.test(text) ? Number(text) : text;
    case "text":
    default:
      if (!alternatives(shape).some(({ format }) => format === "date-time")) return text;
      return new Date(readInstant(text, said)).toISOString();
  }
}

function classifyShape(shape: Shape): keyof typeof VALUES {
  const types = new Set(alternatives(shape).map(({ type }) => type));
  if (types.has("boolean")) return "switch";
  if (types.has("array")) return "list";
  return types.has("integer") || types.has("number") ? "number" : "text";
}

function alternatives(shape: Shape): readonly Shape[] {
  return shape.anyOf === undefined ? [shape] : shape.anyOf.flatMap(alternatives);
}
