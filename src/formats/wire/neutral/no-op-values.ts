import { ABSENT, type JsonDocument } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";

/** Values that ask for what happens without them; they are left out on the way to another wire. */
const NO_OPS: Readonly<Record<string, string>> = { response_format: "text", thinking: "disabled" };

/** Is this top-level field, an object with a `type`, one that asks for nothing? */
export function isNoOp(doc: JsonDocument, name: string): boolean {
  const usual = Object.hasOwn(NO_OPS, name) ? NO_OPS[name] : undefined;
  if (usual === undefined) return false;
  const value = doc.present(0, name === "thinking" ? word.thinking : word.response_format);
  const type = value === ABSENT ? ABSENT : doc.present(value, word.type);
  return type !== ABSENT && doc.isString(type) && doc.text(type) === usual;
}
