import { textOf } from "../../kernel/index.ts";
import { createHash } from "node:crypto";
import { isObject, pickObjects, type JsonObject } from "./json.ts";

/** A part of a prompt that is not text. */
export interface SimMedia {
  readonly kind: MediaKind;
  /** Eight hexadecimal digits that depend on nothing but its content. */
  readonly digest: string;
}

type MediaKind = "image" | "file" | "audio" | "video";

const KINDS: Readonly<Record<string, MediaKind>> = {
  image: "image",
  image_url: "image",
  document: "file",
  file: "file",
  input_audio: "audio",
  video_url: "video",
};
const DIGEST_CHARS = 8;

/** The media parts of all messages of either wire, those inside tool results included. */
export function collectMedia(messages: readonly JsonObject[]): readonly SimMedia[] {
  return messages.flatMap(({ content }) => mediaIn(content));
}

function mediaIn(content: unknown): readonly SimMedia[] {
  return pickObjects(content).flatMap((part) => {
    const type = textOf(part["type"]);
    if (type === "tool_result") return mediaIn(part["content"]);
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
    return kind === undefined ? [] : [{ kind, digest: digestMedia(part[type] ?? part["source"]) }];
  });
}

/* The same picture has one digest on both wires: a data URL counts as the data in it. */
function digestMedia(held: unknown): string {
  const fields = isObject(held) ? held : { url: held };
  const content = [fields["url"], fields["data"], fields["file_data"]].find(isText);
  const data = content?.replace(/^data:[^,]*,/, "") ?? JSON.stringify(held ?? null);
  return createHash("sha256").update(data).digest("hex").slice(0, DIGEST_CHARS);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
