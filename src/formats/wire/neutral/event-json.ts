import { isUtf8 } from "node:buffer";
import { asObject, tryParse } from "../../../kernel/index.ts";

/** The JSON object of a provider's event, with the text it was read from. */
export interface EventJson {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The bytes of an event as text; undefined when they are not UTF-8. */
export function readEventText(data: Buffer): string | undefined {
  return isUtf8(data) ? data.toString("utf8") : undefined;
}

/** Undefined when there is no text, or it is not JSON within its bounds, or no object. */
export function parseEventJson(text: string | undefined): EventJson | undefined {
  if (text === undefined) return undefined;
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? undefined : { text, value };
}
