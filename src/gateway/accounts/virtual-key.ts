import * as crypto from "node:crypto";

const PREFIX = "tm_vk_";
const RANDOM_BYTES = 24;
const LABEL_CHARS = 12;
const FORM = /^tm_vk_[0-9a-f]{48}$/;

/** A new key: `raw` is shown once and never stored; the other two are what a key store keeps. */
export interface NewVirtualKey {
  readonly raw: string;
  /** SHA-256 of the raw key, 32 bytes. */
  readonly digest: Buffer;
  /** First 12 characters, for labelling. */
  readonly label: string;
}

/** Makes a virtual key from 192 random bits. */
export function newVirtualKey(): NewVirtualKey {
  const raw = PREFIX + crypto.randomBytes(RANDOM_BYTES).toString("hex");
  return { raw, digest: Buffer.from(digestHex(raw), "hex"), label: raw.slice(0, LABEL_CHARS) };
}

/** Has `text` the form of a virtual key? */
export function isVirtualKey(text: string): boolean {
  return FORM.test(text);
}

/** SHA-256 of any text, as 64 hexadecimal characters. */
export const digestHex: (raw: string) => string =
  typeof crypto.hash === "function"
    ? (raw) => crypto.hash("sha256", raw, "hex")
    : (raw) => crypto.createHash("sha256").update(raw).digest("hex");
