import { member, text } from "../gateway.ts";

export interface Picture {
  readonly dataUrl: string;
  readonly fileName: string;
}

export function readPictures(answer: unknown, requestId: string | undefined): readonly Picture[] {
  const data = member(answer, "data");
  if (!Array.isArray(data)) return [];
  return data.flatMap((each: unknown, at) => {
    const base64 = text(member(each, "b64_json"));
    if (base64 === undefined) return [];
    const format = detectFormat(base64);
    const fileName = `${requestId ?? "image"}-${at + 1}.${format === "jpeg" ? "jpg" : format}`;
    return [{ dataUrl: `data:image/${format};base64,${base64}`, fileName }];
  });
}

/** Detects the format of an image from its first bytes, because answers do not state it. */
export function detectFormat(base64: string): "png" | "jpeg" | "webp" {
  if (base64.startsWith("/9j/")) return "jpeg";
  return base64.startsWith("UklGR") ? "webp" : "png";
}
