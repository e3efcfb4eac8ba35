import { isUtf8 } from "node:buffer";
import { asObject } from "../../json/index.ts";

/** The JSON object of a provider's event, with the text it was read from. */
export interface EventJson {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Undefined when the bytes are not UTF-8, not JSON, or no object. */
export function readEventJson(data: Buffer): EventJson | undefined {
  if (!isUtf8(data)) return undefined;
  const text = data.toString("utf8");
  try {
    const value = asObject(JSON.parse(text) as unknown);
    return value === undefined ? undefined : { text, value };
  } catch {
    return undefined;
  }
}
