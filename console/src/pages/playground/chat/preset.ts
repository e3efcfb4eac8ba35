import { member, text } from "../gateway.ts";
import type { ChatSettings, ParameterValues, Routing } from "./chat-types.ts";

/** The name of a preset in the part of an address that browsers never send. */
const NAME = "preset";
const LINK_CHARS_MAX = 16_000;
const NAMES_MAX = 64;
const MODELS_MAX = 4;
/** Keys of this gateway and of the usual providers: none belongs into a link. */
const SECRET = /\b(?:tm_[a-z]+_[A-Za-z0-9_-]{4,}|sk-[A-Za-z0-9_-]{8,}|gsk_[A-Za-z0-9]{8,})/;

export interface PresetLink {
  readonly fragment?: string;
  readonly problem?: string;
}

/** The settings as the fragment of a link, without a message and without a key. */
export function presetFragment(settings: ChatSettings): PresetLink {
  const json = JSON.stringify(settings);
  if (SECRET.test(json)) {
    return { problem: "The settings contain a secret key. Remove it before you share them." };
  }
  const bytes = new TextEncoder().encode(json);
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const packed = base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  if (packed.length > LINK_CHARS_MAX) {
    return { problem: "The settings are too long for a link. Shorten the system prompt or tools." };
  }
  return { fragment: `#${NAME}=${packed}` };
}

export interface ReadPreset {
  readonly settings?: ChatSettings;
  readonly problem?: string;
}

/**
 * The settings of a link; undefined: it has none. A link may come from anybody, so that only what
 * is known is taken from it, and each value within the bounds of its field.
 */
export function readPreset(
  fragment: string,
  listed: readonly { readonly id: string }[],
): ReadPreset | undefined {
  const packed = new URLSearchParams(fragment.replace(/^#/, "")).get(NAME);
  if (packed === null) return undefined;
  const sent = packed.length > LINK_CHARS_MAX ? undefined : unpacked(packed);
  if (typeof sent !== "object" || sent === null) {
    return { problem: "The preset in this link is damaged or too long. Ask for the link again." };
  }
  const modelIds = textsOf(member(sent, "modelIds")).filter((id) =>
    listed.some((model) => model.id === id),
  );
  if (modelIds.length === 0) {
    return { problem: "None of the models in this preset are listed here. It was not opened." };
  }
  const own = Object.entries(recordOf(member(sent, "own")))
    .filter(([id]) => modelIds.includes(id))
    .map(([id, values]) => [id, valuesOf(values)]);
  return {
    settings: {
      modelIds: [...new Set(modelIds)].slice(0, MODELS_MAX),
      system: text(member(sent, "system")) ?? "",
      parameters: valuesOf(member(sent, "parameters")),
      own: Object.fromEntries(own) as Readonly<Record<string, ParameterValues>>,
      tools: text(member(sent, "tools")) ?? "",
      schema: text(member(sent, "schema")) ?? "",
      isReasoningOff: member(sent, "isReasoningOff") === true,
      routing: routingOf(member(sent, "routing")),
    },
  };
}

function unpacked(packed: string): unknown {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

function routingOf(sent: unknown): Routing {
  return {
    order: textsOf(member(sent, "order")),
    only: textsOf(member(sent, "only")),
    ignore: textsOf(member(sent, "ignore")),
    isFirstOnly: member(sent, "isFirstOnly") === true,
    isStrict: member(sent, "isStrict") === true,
  };
}

function valuesOf(sent: unknown): ParameterValues {
  const known = Object.entries(recordOf(sent)).filter(
    (entry): entry is [string, string | number | boolean] =>
      typeof entry[1] === "boolean" ||
      (typeof entry[1] === "number" && Number.isFinite(entry[1])) ||
      typeof entry[1] === "string",
  );
  return Object.fromEntries(known.slice(0, NAMES_MAX));
}

function recordOf(sent: unknown): Readonly<Record<string, unknown>> {
  return typeof sent === "object" && sent !== null && !Array.isArray(sent)
    ? (sent as Readonly<Record<string, unknown>>)
    : {};
}

function textsOf(sent: unknown): readonly string[] {
  if (!Array.isArray(sent)) return [];
  return sent
    .filter((each): each is string => typeof each === "string" && each.length <= 200)
    .slice(0, NAMES_MAX);
}
