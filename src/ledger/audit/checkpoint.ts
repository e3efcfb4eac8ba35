import { sign, verify, type KeyObject } from "node:crypto";

import {
  canonicalText,
  publicKeyText,
  readPublicKey,
  type SigningKey,
} from "../../kernel/index.ts";
import type { AuditStart } from "./audit-span.ts";

const FORMAT = "tokenmarket-audit-checkpoint-1";

export interface CountedRows {
  readonly rows: number;
  /** SHA-256, in hexadecimal, over one line of JSON per row, in the order of the rows. */
  readonly sha256: string;
}

export interface Checkpoint extends AuditStart {
  /** The hexadecimal SHA-256 of the previous checkpoint's document; empty for the first. */
  readonly previous: string;
  readonly accounts: CountedRows;
  readonly spend: CountedRows;
}

export interface SignedCheckpoint extends AuditStart {
  readonly document: string;
  readonly signature: Buffer;
}

export function signCheckpoint(of: Checkpoint, key: SigningKey): SignedCheckpoint {
  const document = toDocument(of, key.publicKey);
  const signature = sign(null, Buffer.from(document), key.privateKey);
  const { day, position, fromAttempt } = of;
  return { day, position, fromAttempt, document, signature };
}

/**
 * Returns what is wrong with a stored checkpoint; undefined if `trustedKey` signed it, and what was
 * signed equals `is`, which was computed from the rows that the database has now.
 */
export function checkpointProblem(
  stored: SignedCheckpoint,
  is: Omit<Checkpoint, keyof AuditStart>,
  trustedKey: KeyObject,
): string | undefined {
  const { day, position, fromAttempt, document, signature } = stored;
  if (!verify(null, Buffer.from(document), trustedKey, signature)) {
    return isOfAnotherKey(document, trustedKey)
      ? "signed by another key"
      : "not the text that was signed";
  }
  const expected = toDocument({ day, position, fromAttempt, ...is }, trustedKey);
  return document === expected ? undefined : "its rows are not those that were signed";
}

function isOfAnotherKey(document: string, trustedKey: KeyObject): boolean {
  const text = /"public_key":"([^"]*)"/.exec(document)?.[1] ?? "";
  const key = readPublicKey(text);
  return key !== undefined && !key.equals(trustedKey);
}

function toDocument(of: Checkpoint, publicKey: KeyObject): string {
  return canonicalText({
    format: FORMAT,
    day: of.day,
    position: String(of.position),
    from_attempt_id: String(of.fromAttempt),
    previous: of.previous,
    accounts: { rows: String(of.accounts.rows), sha256: of.accounts.sha256 },
    spend: { rows: String(of.spend.rows), sha256: of.spend.sha256 },
    public_key: publicKeyText(publicKey),
  });
}
