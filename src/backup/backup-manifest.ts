import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";

import { publicKeyText, type SigningKey } from "../ledger/index.ts";

const FORMAT = "tokenmarket-backup-1";

/** A backup that cannot be used, and why; or one that cannot be made. */
export class BackupFault extends Error {
  override readonly name = "BackupFault";
}

/** One file of a base copy; the path is within the data folder of PostgreSQL. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
  /** Of the bytes of the copy. */
  readonly sha256: string;
}

/** What all accounts have together, in micro-dollars. */
export interface AccountSums {
  readonly accounts: bigint;
  readonly debits: bigint;
  readonly credits: bigint;
  readonly reserved: bigint;
}

/** What `backup.json` says of a base copy. */
export interface BackupManifest {
  /** Of its folder: `base-20261122T101500Z`. */
  readonly name: string;
  /** Which database: its own name since it was made or restored. */
  readonly life: string;
  readonly startedAt: string;
  /** Of the point that the sums are of: the earliest that it can be restored to. */
  readonly finishedAt: string;
  /** Content of `PG_VERSION`: the major version. */
  readonly postgresVersion: string;
  /** Name of the newest step of the schema. */
  readonly schema: string;
  /** First and last segment of the log that the copy is worth nothing without. */
  readonly firstSegment: string;
  readonly lastSegment: string;
  readonly segmentBytes: number;
  readonly restorePoint: string;
  readonly sums: AccountSums;
  readonly folders: readonly string[];
  readonly files: readonly CopiedFile[];
}

/** A manifest as it is in a file. */
export interface SignedBackup extends BackupManifest {
  readonly publicKey: KeyObject;
  /** By the key that it names; whose key that is, is another question. */
  readonly isSigned: boolean;
}

export function signBackup(manifest: BackupManifest, key: SigningKey): string {
  const body = { ...documentOf(manifest), public_key: publicKeyText(key.publicKey) };
  const signature = sign(null, Buffer.from(JSON.stringify(body)), key.privateKey);
  return `${JSON.stringify({ ...body, signature: signature.toString("base64") })}\n`;
}

/** Reads `backup.json`; the answer as a text says what is wrong with it. */
export function readBackup(text: string): SignedBackup | string {
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document !== "object" || document === null) return "it is not a JSON object";
    const { signature, ...body } = document as Document;
    if (body["format"] !== FORMAT) return `it is not of the format ${FORMAT}`;
    const publicKey = readKey(textAt(body, "public_key"));
    const signed = Buffer.from(typeof signature === "string" ? signature : "", "base64");
    const isSigned = verify(null, Buffer.from(JSON.stringify(body)), publicKey, signed);
    return { ...manifestOf(body), publicKey, isSigned };
  } catch (fault) {
    return fault instanceof Error ? fault.message : String(fault);
  }
}

type Document = Readonly<Record<string, unknown>>;

function documentOf(manifest: BackupManifest): Document {
  const { sums } = manifest;
  return {
    format: FORMAT,
    name: manifest.name,
    life: manifest.life,
    started_at: manifest.startedAt,
    finished_at: manifest.finishedAt,
    postgres_version: manifest.postgresVersion,
    schema: manifest.schema,
    first_segment: manifest.firstSegment,
    last_segment: manifest.lastSegment,
    segment_bytes: manifest.segmentBytes,
    restore_point: manifest.restorePoint,
    sums: {
      accounts: String(sums.accounts),
      debits_micro_usd: String(sums.debits),
      credits_micro_usd: String(sums.credits),
      reserved_micro_usd: String(sums.reserved),
    },
    folders: manifest.folders,
    files: manifest.files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 })),
  };
}

function manifestOf(body: Document): BackupManifest {
  const sums = objectAt(body, "sums");
  return {
    name: patternAt(body, "name", /^base-[0-9TZ]+$/),
    life: patternAt(body, "life", /^[0-9a-f]{12}$/),
    startedAt: instantAt(body, "started_at"),
    finishedAt: instantAt(body, "finished_at"),
    postgresVersion: textAt(body, "postgres_version"),
    schema: textAt(body, "schema"),
    firstSegment: patternAt(body, "first_segment", /^[0-9A-F]{24}$/),
    lastSegment: patternAt(body, "last_segment", /^[0-9A-F]{24}$/),
    segmentBytes: countAt(body, "segment_bytes"),
    restorePoint: patternAt(body, "restore_point", /^[\w-]{1,63}$/),
    sums: {
      accounts: amountAt(sums, "accounts"),
      debits: amountAt(sums, "debits_micro_usd"),
      credits: amountAt(sums, "credits_micro_usd"),
      reserved: amountAt(sums, "reserved_micro_usd"),
    },
    folders: listAt(body, "folders").map(insidePath),
    files: listAt(body, "files").map((each) => {
      const file = each as Document;
      return {
        path: insidePath(file["path"]),
        bytes: countAt(file, "bytes"),
        sha256: patternAt(file, "sha256", /^[0-9a-f]{64}$/),
      };
    }),
  };
}

/** A path that leads nowhere else, in a file of any origin. */
function insidePath(value: unknown): string {
  const isInside =
    typeof value === "string" &&
    !value.startsWith("/") &&
    value.split("/").every((part) => part !== "" && part !== ".." && part !== ".") &&
    !/[\0\\]/.test(value);
  if (!isInside) throw new Error(`${JSON.stringify(value)} is not a path within the copy`);
  return value;
}

function readKey(text: string): KeyObject {
  const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
  if (key.asymmetricKeyType !== "ed25519") throw new Error("public_key is not an Ed25519 key");
  return key;
}

function textAt(document: Document, name: string): string {
  const value = document[name];
  if (typeof value !== "string") throw new Error(`${name} is missing`);
  return value;
}

function patternAt(document: Document, name: string, pattern: RegExp): string {
  const text = textAt(document, name);
  if (!pattern.test(text)) throw new Error(`${name} is not valid`);
  return text;
}

function instantAt(document: Document, name: string): string {
  const text = textAt(document, name);
  if (Number.isNaN(Date.parse(text))) throw new Error(`${name} is not a time`);
  return text;
}

function amountAt(document: Document, name: string): bigint {
  return BigInt(patternAt(document, name, /^-?\d{1,39}$/));
}

function countAt(document: Document, name: string): number {
  const value = document[name];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${name} is not a count`);
}

function objectAt(document: Document, name: string): Document {
  const value = document[name];
  if (typeof value !== "object" || value === null) throw new Error(`${name} is missing`);
  return value as Document;
}

function listAt(document: Document, name: string): readonly unknown[] {
  const value = document[name];
  if (!Array.isArray(value)) throw new Error(`${name} is missing`);
  return value as readonly unknown[];
}
