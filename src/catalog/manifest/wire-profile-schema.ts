import { Type, type TSchema, type TUnsafe } from "typebox";
import { type Accepted, at, oneOf, quotedWords, rule } from "./schema-parts.ts";

const NAME = "^[a-zA-Z][a-zA-Z0-9_]{0,63}$";
const WORD = "^[\\x21-\\x7e]{1,64}$";
const ENTRIES_MAX = 32;

const nameRule = rule(
  "wire-profile-name",
  "must name parameters with letters, digits and underscores, and at most 32 of them",
);
const valueRule = rule(
  "wire-profile-value",
  "must map values to values, each of 1 to 64 printable characters without blanks",
);
const HISTORY_RULES = [
  "no-name",
  "no-null",
  "no-reasoning",
  "no-strict",
  "no-cache-control",
  "no-effort-with-tools",
  "text-only-content",
  "system-for-developer",
  "system-first",
] as const;
/** A part of a conversation that an endpoint refuses or needs in another form. */
export type HistoryRule = (typeof HISTORY_RULES)[number];
const historyRule = rule(
  "wire-profile-history",
  `must be a list without repeats of ${quotedWords(HISTORY_RULES, "and")}`,
);

const valueMap: TSchema = {
  type: "object",
  minProperties: 1,
  maxProperties: ENTRIES_MAX,
  propertyNames: { pattern: WORD, ...valueRule },
  additionalProperties: { type: "string", pattern: WORD, ...valueRule },
  ...valueRule,
};

function byParameter<T>(member: TSchema, description: string) {
  return Type.Unsafe<Readonly<Record<string, T>>>({
    type: "object",
    minProperties: 1,
    maxProperties: ENTRIES_MAX,
    propertyNames: { pattern: NAME, ...nameRule },
    additionalProperties: member,
    description,
    ...nameRule,
  });
}

export function fixedBody(description: string): TUnsafe<Readonly<Record<string, unknown>>> {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    minProperties: 1,
    description,
    ...rule("wire-profile-body", "must be an object with at least one member"),
  });
}

export function historyRules(description: string) {
  const word = { type: "string", enum: HISTORY_RULES, description: "What the endpoint refuses." };
  return Type.Array(Type.Unsafe<HistoryRule>({ ...word, ...historyRule }), {
    uniqueItems: true,
    description,
    ...historyRule,
  });
}

export const wireProfileSchema = Type.Object(
  {
    auth: Type.Optional(
      oneOf("wire-profile-auth", ["bearer", "x-api-key", "api-key"], {
        description: "The header with the key, where it is not the one of the dialect.",
      }),
    ),
    stream_usage: Type.Optional(
      oneOf("wire-profile-stream-usage", ["ask", "always"], {
        default: "ask",
        description:
          "`always`: streams report usage unasked, and `stream_options` is never sent. " +
          "Chat completions only.",
      }),
    ),
    undeclared: Type.Optional(
      oneOf("wire-profile-undeclared", ["forward", "drop"], {
        default: "forward",
        description:
          "`drop`: parameters that a listing does not declare are not sent, and named in the answer.",
      }),
    ),
    rename: Type.Optional(
      byParameter<string>(
        { type: "string", pattern: NAME, ...nameRule },
        "Declared parameter to the name under which the endpoint takes it.",
      ),
    ),
    values: Type.Optional(
      byParameter<Readonly<Record<string, string>>>(
        valueMap,
        "Parameter to values, each with the one that the endpoint has for it.",
      ),
    ),
    history: Type.Optional(
      historyRules("What messages and tools must not hold, or hold in another form."),
    ),
    tool_signature: Type.Optional(
      oneOf("wire-profile-tool-signature", ["gemini"], {
        description:
          "Calls carry signatures that the next turn has to bring back. Chat completions only.",
      }),
    ),
    usage_gap: Type.Optional(
      oneOf("wire-profile-usage-gap", ["reasoning"], {
        description:
          "What `total_tokens` has above prompt and completion is billed as internal reasoning. " +
          "Chat completions only.",
      }),
    ),
    non_stream_max: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000_000,
        description:
          "Most output tokens of an answer that is not streamed; `0`: every answer is streamed.",
        ...rule("wire-profile-non-stream", "must be an integer from 0 to 1000000000"),
      }),
    ),
    body: Type.Optional(
      fixedBody(
        "Members that every chat request to the endpoint has, at most 1024 bytes: never model, " +
          "messages, tools, an output bound, stream or a credential. They win over the client's.",
      ),
    ),
  },
  {
    title: "WireProfile",
    description: "How the endpoint differs from its dialect. No other properties.",
    additionalProperties: false,
  },
);

/** How an endpoint differs from its wire. Unknown members are refused. */
export type ManifestWireProfile = Accepted<typeof wireProfileSchema>;

const onWireB = (member: string): TSchema =>
  at(member, {
    not: {},
    ...rule("wire-profile-dialect", 'must not be here: the dialect is "wire_b"'),
  });

export const WIRE_B_HISTORY: TSchema = at("history", {
  type: "array",
  items: {
    enum: ["no-cache-control", "system-first"],
    ...rule(
      "wire-profile-dialect",
      'must be "no-cache-control" or "system-first": the dialect is "wire_b"',
    ),
  },
});

export const WIRE_B_PROFILE: TSchema = {
  allOf: [onWireB("stream_usage"), onWireB("tool_signature"), onWireB("usage_gap"), WIRE_B_HISTORY],
};
