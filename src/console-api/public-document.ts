import { createHash } from "node:crypto";

/** A JSON document that anybody may read and keep for a while. */
export class PublicDocument {
  readonly body: string;
  readonly etag: string;
  readonly maxAgeSeconds: number;

  constructor(content: object, maxAgeSeconds: number) {
    this.body = JSON.stringify(content);
    const digest = createHash("sha256").update(this.body).digest("hex");
    this.etag = `"${digest.slice(0, ETAG_CHARS)}"`;
    this.maxAgeSeconds = maxAgeSeconds;
  }
}

const ETAG_CHARS = 32;

/** Is `etag` among the tags a client has kept? A weak tag is as good as a strong one here. */
export function isKept(header: string | undefined, etag: string): boolean {
  const tags = header?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}
