import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { mapInTurns } from "../../kernel/index.ts";

export class PublicDocument {
  readonly body: Buffer;
  readonly etag: string;
  readonly maxAgeSeconds: number;

  static of(content: object, maxAgeSeconds: number): PublicDocument {
    const body = Buffer.from(JSON.stringify(content));
    const digest = createHash("sha256").update(body).digest("hex");
    return new PublicDocument(body, digest, maxAgeSeconds);
  }

  /** Makes a long document piece by piece, so that other requests are served in between. */
  static async inTurns(pieces: readonly Buffer[], maxAgeSeconds: number): Promise<PublicDocument> {
    const hash = createHash("sha256");
    await mapInTurns(pieces, (piece) => hash.update(piece));
    await setImmediate();
    const body = Buffer.concat(pieces);
    return new PublicDocument(body, hash.digest("hex"), maxAgeSeconds);
  }

  private constructor(body: Buffer, digest: string, maxAgeSeconds: number) {
    this.body = body;
    this.etag = `"${digest.slice(0, ETAG_CHARS)}"`;
    this.maxAgeSeconds = maxAgeSeconds;
  }
}

const ETAG_CHARS = 32;

/** True if the client has cached `etag`. A weak tag counts as a strong one. */
export function isKept(header: string | undefined, etag: string): boolean {
  const tags = header?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}
