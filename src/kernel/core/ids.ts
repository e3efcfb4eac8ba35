import { randomFillSync } from "node:crypto";

/* Ids are branded by kind, so that one kind cannot be passed as another. */
export type OrgId = string & { readonly __id: "org" };
export type KeyId = string & { readonly __id: "key" };
export type ModelId = string & { readonly __id: "model" };
export type ProviderId = string & { readonly __id: "provider" };
/** `video_` and 32 random hexadecimal characters. Never the provider's own id of the job. */
export type JobId = string & { readonly __id: "job" };
/** UUID version 7 (RFC 9562); the value of `x-request-id`. */
export type RequestId = string & { readonly __id: "request" };
/** Time-ordered 63-bit integer: 41 bits of milliseconds, 10 of instance, 12 of sequence. */
export type AttemptId = bigint & { readonly __id: "attempt" };

const RANDOM_POOL_BYTES = 4096;
const randomPool = Buffer.alloc(RANDOM_POOL_BYTES);
let randomOffset = RANDOM_POOL_BYTES;

function takeRandom(bytes: number): number {
  if (randomOffset + bytes > RANDOM_POOL_BYTES) {
    randomFillSync(randomPool);
    randomOffset = 0;
  }
  const start = randomOffset;
  randomOffset += bytes;
  return start;
}

function randomHex(bytes: number): string {
  const at = takeRandom(bytes);
  return randomPool.toString("hex", at, at + bytes);
}

export function createRequestId(nowMs: number): RequestId {
  const at = takeRandom(10);
  const time = nowMs.toString(16).padStart(12, "0");
  const random = randomPool.toString("hex", at, at + 10);
  const variant = ((randomPool[at + 9] ?? 0) & 0x3f) | 0x80;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant.toString(16)}${random.slice(3, 5)}-${random.slice(5, 17)}` as RequestId;
}

export function parseRequestId(text: string): RequestId | undefined {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
    ? (text as RequestId)
    : undefined;
}

export function createSpanId(): string {
  return randomHex(8);
}

/** Makes a random id such as `org_9f2c…`, with 24 hexadecimal characters. */
export function createRecordId(prefix: string): string {
  return `${prefix}_${randomHex(12)}`;
}

/** The organization that `tokenmarket dev` creates, found by id because people may rename it. */
export const DEVELOPMENT_ORG_ID = "org_development" as OrgId;

export function createOrgId(): OrgId {
  return createRecordId("org") as OrgId;
}

export function createKeyId(): KeyId {
  return createRecordId("key") as KeyId;
}

export function parseKeyId(text: string): KeyId | undefined {
  return /^key_\w{1,60}$/.test(text) ? (text as KeyId) : undefined;
}

export function createJobId(): JobId {
  return `video_${randomHex(16)}` as JobId;
}

export function parseJobId(text: string): JobId | undefined {
  return /^video_[0-9a-f]{32}$/.test(text) ? (text as JobId) : undefined;
}

const ATTEMPT_EPOCH_MS = 1_735_689_600_000; // 2025-01-01T00:00:00Z
const SEQUENCE_BITS = 12n;
const INSTANCE_BITS = 10n;

/** Returns when the id was made, before the attempt's admission, in milliseconds since 1970. */
export function attemptInstantMs(id: AttemptId): number {
  return Number(id >> (INSTANCE_BITS + SEQUENCE_BITS)) + ATTEMPT_EPOCH_MS;
}

const SEQUENCES_PER_MS = 1 << Number(SEQUENCE_BITS);

/** The lowest attempt id of a millisecond, for range queries. */
export function attemptIdFrom(atMs: number): bigint {
  return BigInt(atMs - ATTEMPT_EPOCH_MS) << (INSTANCE_BITS + SEQUENCE_BITS);
}

/**
 * Returns a function that makes attempt ids for one instance (0 to 1023). Each id is greater than
 * the one before: if the wall clock steps back, ids keep the last millisecond and go on counting.
 */
export function attemptIdMaker(instance: number): (nowMs: number) => AttemptId {
  let lastMs = 0;
  let sequence = 0;
  const instancePart = BigInt(instance) << SEQUENCE_BITS;
  return (nowMs) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      sequence = 0;
    } else if (++sequence === SEQUENCES_PER_MS) {
      lastMs += 1;
      sequence = 0;
    }
    const time = attemptIdFrom(lastMs);
    return (time | instancePart | BigInt(sequence)) as AttemptId;
  };
}
