import { mediaPartTokens } from "../../core/constants.ts";
import type { MediaPart } from "./chat-request.ts";

/** Gathers the media parts of a body and what they change in its token estimate. */
export class MediaCollector {
  readonly parts: MediaPart[] = [];
  /** Media allowance minus the inline image bytes that it stands for. */
  extraTokens = 0;

  /** `inlineBytes`: length of the base64 text of an inline image, otherwise 0. */
  add(path: string, kind: MediaPart["kind"], inlineBytes: number): void {
    this.parts.push({ path, kind });
    if (kind === "image" || kind === "file") this.extraTokens += mediaPartTokens;
    if (kind === "image") this.extraTokens -= inlineBytes;
  }
}
