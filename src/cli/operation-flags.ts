import type { Option } from "commander";
import type { TSchema } from "typebox";

import type { CommandFace, RouteContract } from "../account/console-api/contract.ts";
import type { Flags } from "./command-context.ts";
import { readText } from "./number-flags.ts";
import { option, required } from "./stored-command.ts";

/** The members of a schema that this file reads. */
interface Shape {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

/** The arguments of a usage: `key show <key_id>` has `key_id`. */
export function argumentNames(usage: string): readonly string[] {
  return [...usage.matchAll(/[<[](\w+)[>\]]/g)].map(([, name = ""]) => name);
}

/** Every field that a command takes, by its name: those of the path, the query and the body. */
export function commandFields(
  { params, query, body }: RouteContract,
  { typed = [] }: CommandFace,
): readonly (readonly [string, Shape, { readonly isRequired: boolean }])[] {
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

/** `cap_usd` is `--cap-usd <amount>`; the description of the field is its help. */
export function fieldOption(name: string, shape: Shape, isRequired: boolean): Option {
  const make = isRequired ? required : option;
  const made = make(`${flagName(name)}${VALUES[kindOf(shape)]}`, describe(shape));
  const choices = alternatives(shape).flatMap((each) => each.enum ?? []);
  return choices.length === 0 ? made : made.choices(choices);
}

const VALUES = { switch: "", list: " <list>", number: " <n>", text: " <text>" } as const;

export function flagName(field: string): string {
  return `--${field.replaceAll("_", "-")}`;
}

/** The sentence of a schema about its values. A list has commas between its entries. */
function describe(shape: Shape): string {
  const text = [shape, ...alternatives(shape)].find((each) => each.description)?.description ?? "";
  return kindOf(shape) === "list" ? `${text}, with commas between them` : text;
}

/**
 * The value of a field as the route takes it. What is no number where one is due stays a text: the
 * schema says what is wrong with it.
 */
export function readField(
  flags: Flags,
  [name, shape]: readonly [string, Shape, unknown],
  { none = [] }: CommandFace,
): unknown {
  const text = readText(flags, name.replaceAll("_", "-"));
  if (text === undefined) return undefined;
  if (text === "none" && none.includes(name)) return null;
  switch (kindOf(shape)) {
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
      return text;
  }
}

function kindOf(shape: Shape): keyof typeof VALUES {
  const types = new Set(alternatives(shape).map(({ type }) => type));
  if (types.has("boolean")) return "switch";
  if (types.has("array")) return "list";
  return types.has("integer") || types.has("number") ? "number" : "text";
}

function alternatives(shape: Shape): readonly Shape[] {
  return shape.anyOf === undefined ? [shape] : shape.anyOf.flatMap(alternatives);
}
