import type { CapabilityDescriptor, Deployment } from "../../../catalog/index.ts";
import {
  type JsonDocument,
  type JsonNode,
  NUMBER_KIND,
  unreachable,
} from "../../../kernel/index.ts";
import type { Unservable } from "../modality.ts";
import { isBoolean, isInteger } from "./check-shape.ts";

const NAME_CHARS_MAX = 64;

/** Fields that name a user or session. An undeclared one is accepted, but not forwarded. */
const CALLERS_NOTES: ReadonlySet<string> = new Set([
  "user",
  "safety_identifier",
  "metadata",
  "session_id",
]);

/** Returns the first field that the listing does not declare, or whose value it refuses. */
export function findUnlistedField(
  doc: JsonDocument,
  fields: Iterable<readonly [name: string, value: JsonNode]>,
  { supportedParameters }: Pick<Deployment, "supportedParameters">,
): Unservable | undefined {
  for (const [name, value] of fields) {
    const field = name.slice(0, NAME_CHARS_MAX);
    const descriptor = supportedParameters.get(name);
    if (descriptor === undefined) {
      if (CALLERS_NOTES.has(name)) continue;
      const taken = ["prompt", ...supportedParameters.keys()].join(", ");
      return { field, message: `${field} is not accepted by this model; it accepts ${taken}` };
    }
    // A listing declares `metadata` with type `unknown`, which otherwise accepts no object.
    if (name === "metadata" && descriptor.type === "unknown" && doc.isObject(value)) continue;
    const taken = describeAccepted(doc, value, descriptor);
    if (taken !== undefined) return { field, message: `${field} must be ${taken}` };
  }
  return undefined;
}

/** The accepted values as text that follows "must be"; undefined if `node` has one of them. */
export function describeAccepted(
  doc: JsonDocument,
  node: JsonNode,
  descriptor: CapabilityDescriptor,
): string | undefined {
  switch (descriptor.type) {
    case "boolean":
      return isBoolean(doc, node) && "true or false";
    case "enum":
      return isOneOf(doc, node, descriptor.values)
        ? undefined
        : `one of ${descriptor.values.join(", ")}`;
    case "integer":
      return isInteger(doc, node) === undefined && isWithin(doc.number(node), descriptor)
        ? undefined
        : `a whole number${describeBounds(descriptor)}`;
    case "range":
      return doc.kind(node) === NUMBER_KIND && isWithin(doc.number(node), descriptor)
        ? undefined
        : `a number${describeBounds(descriptor)}`;
    case "unknown": {
      const isPlain = !doc.isObject(node) && !doc.isArray(node);
      return isPlain ? undefined : "a string, a number, true or false";
    }
    default:
      return unreachable(descriptor);
  }
}

function isOneOf(doc: JsonDocument, node: JsonNode, values: readonly string[]): boolean {
  if (doc.isString(node)) return values.includes(doc.text(node));
  return doc.kind(node) === NUMBER_KIND && values.includes(String(doc.number(node)));
}

interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

function isWithin(value: number, { min = -Infinity, max = Infinity }: Bounds): boolean {
  return Number.isFinite(value) && value >= min && value <= max;
}

function describeBounds({ min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}
