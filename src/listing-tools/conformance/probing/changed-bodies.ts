import { asObject, tryParse } from "../../../kernel/index.ts";

/** A body that ends in the middle, which is not JSON. */
export function cutInHalf(body: Buffer): Buffer {
  return body.subarray(0, Math.floor(body.length / 2));
}

/** The body with these members added or replaced. */
export function withMembers(body: Buffer, members: Readonly<Record<string, unknown>>): Buffer {
  const parsed = asObject(tryParse(body.toString("utf8"))?.value) ?? {};
  return Buffer.from(JSON.stringify({ ...parsed, ...members }));
}
