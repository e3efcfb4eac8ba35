/** Between the provider's own id of a call and its signature. */
const MARK = "_tmsig_";
/** Longer ones are not carried: the stand-in takes their place. */
const SIGNATURE_CHARS_MAX = 16_384;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A call's id, and the signature that rides in it. */
export interface SignedId {
  readonly id: string;
  /** Base64, as the provider wrote it. */
  readonly signature?: string;
}

/**
 * One id that a client brings back with both: other wires have no place for a signature, and their
 * ids are letters, digits, "_" and "-".
 */
export function signedId({ id, signature }: SignedId): string {
  if (signature === undefined || signature.length > SIGNATURE_CHARS_MAX) return id;
  const carried = Buffer.from(signature, "base64").toString("base64url");
  if (!BASE64.test(signature) || original(carried) !== signature) return id;
  return `${id === "" ? `call_${carried.slice(-12)}` : id}${MARK}${carried}`;
}

/** Undoes `signedId`. What a client has made up is at most a signature that its provider refuses. */
export function splitSignedId(signed: string): SignedId {
  const at = signed.lastIndexOf(MARK);
  if (at <= 0 || signed.length - at > SIGNATURE_CHARS_MAX + MARK.length) return { id: signed };
  const carried = signed.slice(at + MARK.length);
  if (!/^[A-Za-z0-9_-]+$/.test(carried)) return { id: signed };
  return { id: signed.slice(0, at), signature: original(carried) };
}

function original(carried: string): string {
  return Buffer.from(carried, "base64url").toString("base64");
}
