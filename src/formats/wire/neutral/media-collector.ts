import type { InputModality } from "../../../catalog/index.ts";
import { MEDIA_PART_TOKENS } from "../../../kernel/index.ts";

/** Gathers the media parts of a body and what they change in its token estimate. */
export class MediaCollector {
  readonly parts: MediaPart[] = [];
  /** Media allowance minus the inline image bytes that it covers. */
  extraTokens = 0;

  add(path: string, kind: MediaPart["kind"], { imageBytes, isInline }: PartBytes): void {
    this.parts.push({ path, kind });
    // Of a part that its provider fetches the body holds an address, which says nothing of its size.
    const isFetched = (kind === "video" || kind === "audio") && !isInline;
    if (kind === "image" || kind === "file" || isFetched) this.extraTokens += MEDIA_PART_TOKENS;
    if (kind === "image") this.extraTokens -= imageBytes;
  }
}

export interface PartBytes {
  /** Length of the base64 text of an inline image, otherwise 0. */
  readonly imageBytes: number;
  /** Is the content itself in the body, so that its bytes are counted already? */
  readonly isInline: boolean;
}

export interface MediaPart {
  /** `messages[2].content[0]` (wire_a) or `messages.2.content.0` (wire_b). */
  readonly path: string;
  readonly kind: Exclude<InputModality, "text">;
}
