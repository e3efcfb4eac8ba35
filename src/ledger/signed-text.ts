import type { KeyObject } from "node:crypto";

/** The key as manifests write it: base64 of its SubjectPublicKeyInfo. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ format: "der", type: "spki" }).toString("base64");
}

/** A document of texts and of documents: nothing in it can be rounded or read in two ways. */
export type TextDocument = { readonly [name: string]: string | TextDocument };

/** Members sorted by name, no white space: what RFC 8785 makes of a document of texts. */
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
