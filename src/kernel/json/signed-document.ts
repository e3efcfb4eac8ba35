import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { type Static, Type, type TSchema } from "typebox";

import { pathText, schemaCheck } from "./check-schema.ts";
import { readRawJson } from "./read-manifest-json.ts";

/** Returns a public key as signed documents contain it: base64 of its SubjectPublicKeyInfo. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ format: "der", type: "spki" }).toString("base64");
}

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export interface SignedFile {
  readonly text: string;
  readonly signature: Buffer;
}

/** Reads a key that `publicKeyText` wrote; undefined if the text is not an Ed25519 key. */
export function readPublicKey(text: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** A document of strings only, so that nothing in it can be rounded or read in two ways. */
export type TextDocument = { readonly [name: string]: string | TextDocument };

/** Writes a document in the form of RFC 8785: members sorted by name, no white space. */
export function canonicalText(document: TextDocument): string {
  const members = Object.keys(document)
    .sort()
    .map((name) => {
      const value = document[name] ?? "";
      const text = typeof value === "string" ? JSON.stringify(value) : canonicalText(value);
      return `${JSON.stringify(name)}:${text}`;
    });
  return `{${members.join(",")}}`;
}

/** Signs a document. The text of the file is equal for equal documents and keys. */
export function signedFile(document: TextDocument, key: SigningKey): SignedFile {
  const body = { ...document, public_key: publicKeyText(key.publicKey) };
  const signature = sign(null, Buffer.from(canonicalText(body)), key.privateKey);
  const signed = { ...body, signature: signature.toString("base64") };
  return { text: `${JSON.stringify(signed, null, 2)}\n`, signature };
}

export function isSignedBy(key: KeyObject, bytes: string, signature: string): boolean {
  return verify(null, Buffer.from(bytes), key, Buffer.from(signature, "base64"));
}

export type ReadDocument<T> =
  { readonly ok: true; readonly document: T } | { readonly ok: false; readonly problem: string };

/** Returns a reader for files of one format, which checks their form but not their signature. */
export function documentReader<S extends TSchema>(
  schema: S,
): (text: string) => ReadDocument<Static<S>> {
  const check = schemaCheck(schema, { missing: "is missing", unknown: "must not be there" });
  return (text) => {
    const read = readRawJson(text, text.length);
    if (!read.ok) return { ok: false, problem: "it is not valid JSON" };
    // Parsers disagree on which of two members wins, so a signed document has no duplicate keys.
    const [twice] = read.duplicateKeys;
    if (twice !== undefined) return { ok: false, problem: `it has ${twice} twice` };
    const document: unknown = JSON.parse(text);
    const fault = check(document);
    if (fault === undefined) return { ok: true, document: document as Static<S> };
    const { path, message } = fault;
    return { ok: false, problem: `${path.length === 0 ? "it" : pathText(path)} ${message}` };
  };
}

export const documentParts = {
  format: (name: string) => Type.Literal(name, { description: `"${name}"` }),
  /** A string of digits, because a JSON number would be rounded. */
  integer: () => Type.String({ pattern: "^-?\\d{1,39}$", description: "a whole number" }),
  /** An object with arbitrary member names. */
  byName: <S extends TSchema>(schema: S) =>
    Type.Unsafe<Record<string, Static<S>>>({ type: "object", additionalProperties: schema }),
  sha256: () => Type.String({ pattern: "^[0-9a-f]{64}$", description: "a SHA-256" }),
};
