import { ABSENT, type JsonDocument } from "../../../kernel/index.ts";
import { word } from "./chat-vocabulary.ts";
import {
  type Check,
  isBoolean,
  isFilledText,
  listOf,
  optional,
  problem,
  shape,
} from "./check-shape.ts";
import { refuseCredential } from "./forbidden-fields.ts";

const ids = optional(listOf(isFilledText));
const connectionModes = new Set(["prefer", "only", "never"]);

const upstream = shape(
  { only: ids, ignore: ids, order: ids, allow_fallbacks: optional(isBoolean) },
  {
    other: (name) =>
      refuseCredential(name) ??
      problem("is not a known field; use only, ignore, order or allow_fallbacks", name),
  },
);

const connections: Check = (doc, node) =>
  doc.isString(node) && connectionModes.has(doc.text(node))
    ? undefined
    : problem("must be prefer, only or never");

/** The request-level `provider` object: a closed set of controls (specification, point 10). */
export const checkProvider: Check = shape(
  {
    only: ids,
    ignore: ids,
    order: ids,
    upstream: optional(upstream),
    allow_fallbacks: optional(isBoolean),
    require_parameters: optional(isBoolean),
    connections: optional(connections),
  },
  {
    other: (name) =>
      refuseCredential(name) ??
      problem(
        "is not a known field; use only, ignore, order, upstream, allow_fallbacks, require_parameters " +
          "or connections",
        name,
      ),
  },
);

const noControls: ProviderControls = {
  allowFallbacks: true,
  requireParameters: false,
  connections: "prefer",
};

/** The controls of a checked body; the defaults when it has none. */
export function readControls(doc: JsonDocument): ProviderControls {
  const node = doc.present(0, word.provider);
  if (node === ABSENT) return noControls;
  const sent = doc.value(node) as SentControls;
  return {
    ...(sent.only && { only: sent.only }),
    ...(sent.ignore && { ignore: sent.ignore }),
    ...(sent.order && { order: sent.order }),
    ...(sent.upstream && { upstream: sent.upstream }),
    allowFallbacks: sent.allow_fallbacks ?? true,
    requireParameters: sent.require_parameters ?? false,
    connections: sent.connections ?? "prefer",
  };
}

/** What `checkProvider` has let through. */
interface SentControls {
  readonly only?: readonly string[] | null;
  readonly ignore?: readonly string[] | null;
  readonly order?: readonly string[] | null;
  readonly upstream?: Readonly<Record<string, unknown>> | null;
  readonly allow_fallbacks?: boolean | null;
  readonly require_parameters?: boolean | null;
  readonly connections?: "prefer" | "only" | "never" | null;
}
/** The request-level `provider` object (specification, "What the service does", 10). */
export interface ProviderControls {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  readonly allowFallbacks: boolean;
  readonly requireParameters: boolean;
  /** Handed on to aggregator deployments as their own `provider` object. */
  readonly upstream?: Readonly<Record<string, unknown>>;
  readonly connections: "prefer" | "only" | "never";
}
