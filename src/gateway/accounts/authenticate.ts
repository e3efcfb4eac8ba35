import * as crypto from "node:crypto";

import {
  type Clock,
  ExpiringCache,
  KEY_CACHE_ENTRIES_MAX,
  KEY_CACHE_MS,
  KEY_LOOKUP_KEYS_MAX,
  KEY_LOOKUP_PAUSE_MS,
  type OrgId,
  refusal,
  refused,
  type Result,
  STORE_ANSWER_TIMEOUT_MS,
  unavailable,
  UNKNOWN_KEY_MS,
  UNKNOWN_KEYS_MAX,
} from "../../kernel/index.ts";
import type { KeyRecord, KeyStore } from "./key-store.ts";
import { type Principal, toPrincipal } from "./principal.ts";

export interface AuthenticatorOptions {
  readonly keyStore: KeyStore;
  readonly clock: Clock;
  /**
   * How long a known key is cached. A disabled key works at most this much longer, unless `forget`
   * drops it. Milliseconds, default 5,000.
   */
  readonly cacheMs?: number;
  /** Time limit of one look-up in the key store. Milliseconds, default 2,000. */
  readonly storeTimeoutMs?: number;
  /** Called with each fault of the key store; the client only sees a 503. */
  readonly onStoreFault?: (fault: unknown) => void;
}

export type AuthOutcome = Result<{ readonly principal: Principal }>;

export type Authenticator = ReturnType<typeof openAuthenticator>;

/* One message for every cause: an answer must not distinguish a wrong key from a disabled one. */
const NOT_AUTHENTICATED = refused(
  refusal(
    "auth",
    "no valid API key: send your virtual key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`",
    { origin: "authorization" },
  ),
);

const EMAIL_NOT_VERIFIED = refused(
  refusal(
    "email_not_verified",
    "the e-mail address of this account is not verified: open the link in the verification e-mail, then resend",
    { origin: "authorization" },
  ),
);

const KEY_STORE_UNAVAILABLE = refused(
  unavailable(
    "the key could not be checked right now: nothing was sent and nothing was charged, resend after `retry-after`",
  ),
);

export function openAuthenticator(options: AuthenticatorOptions) {
  const { keyStore, clock, onStoreFault } = options;
  const timeoutMs = options.storeTimeoutMs ?? STORE_ANSWER_TIMEOUT_MS;
  const lookups = new KeyLookups(keyStore);
  const cacheMs = options.cacheMs ?? KEY_CACHE_MS;
  const keys = new ExpiringCache<KnownKey>(cacheMs, KEY_CACHE_ENTRIES_MAX);
  // Separate from `keys`, so that a flood of random keys cannot evict keys that exist.
  const unknown = new ExpiringCache<true>(Math.min(cacheMs, UNKNOWN_KEY_MS), UNKNOWN_KEYS_MAX);
  const lookingUp = new Map<string, Promise<AuthOutcome>>();
  let changes = 0;

  /* Caching starts before the query, so that a key disabled during the query expires in time. */
  async function lookUp(digest: string): Promise<AuthOutcome> {
    const askedAtMs = clock.monotonicMs();
    const changesBefore = changes;
    try {
      const record = await withinTime(lookups.find(digest), timeoutMs);
      const outcome = judge(record, clock);
      // A record that was read before a change answers the waiting caller, but is not cached.
      if (changes !== changesBefore) return outcome;
      if (record === undefined) unknown.set(digest, true, askedAtMs);
      else {
        const { orgId, expiresAtMs } = record;
        keys.set(digest, { outcome, orgId, expiresAtMs }, askedAtMs);
      }
      return outcome;
    } catch (fault) {
      onStoreFault?.(fault);
      return KEY_STORE_UNAVAILABLE;
    }
  }

  return {
    /**
     * Answers at once for a text that is cached, as a key or as unknown, or cannot be a key. Any
     * other text takes one look-up, shared by concurrent requests with the same text.
     */
    authenticate(
      authorization: string | undefined,
      xApiKey: string | undefined,
    ): AuthOutcome | Promise<AuthOutcome> {
      const raw = bearerToken(authorization) ?? xApiKey;
      if (raw === undefined || !isVirtualKey(raw)) return NOT_AUTHENTICATED;
      const digest = digestHex(raw);
      const nowMs = clock.monotonicMs();
      const known = keys.get(digest, nowMs);
      if (known !== undefined) return isExpired(known, clock) ? NOT_AUTHENTICATED : known.outcome;
      if (unknown.get(digest, nowMs) !== undefined) return NOT_AUTHENTICATED;
      const shared = lookingUp.get(digest);
      if (shared !== undefined) return shared;
      const search = lookUp(digest).finally(() => {
        if (lookingUp.get(digest) === search) lookingUp.delete(digest);
      });
      lookingUp.set(digest, search);
      return search;
    },

    /** Drops the cached keys of an organization that changed; undefined: all organizations. */
    forget(orgId: OrgId | undefined): void {
      changes += 1;
      // A look-up in progress may have read the key before the change.
      lookingUp.clear();
      keys.drop((known) => orgId === undefined || known.orgId === orgId);
      // The change may have created a key that is cached as unknown.
      unknown.drop(() => true);
    },
  };
}

interface KnownKey {
  readonly outcome: AuthOutcome;
  readonly orgId: OrgId;
  readonly expiresAtMs?: number | undefined;
}

/* Checked at every use, because a key may expire while it is cached. */
function isExpired({ expiresAtMs }: Pick<KnownKey, "expiresAtMs">, clock: Clock): boolean {
  return expiresAtMs !== undefined && clock.nowMs() >= expiresAtMs;
}

function bearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +(\S.*)$/i.exec(authorization ?? "")?.[1]?.trimEnd();
}

function judge(record: KeyRecord | undefined, clock: Clock): AuthOutcome {
  if (record === undefined || record.disabled || isExpired(record, clock)) return NOT_AUTHENTICATED;
  return record.emailVerified ? { ok: true, principal: toPrincipal(record) } : EMAIL_NOT_VERIFIED;
}

async function withinTime<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the key store did not answer in ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([answer, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

const PREFIX = "tm_vk_";
const RANDOM_BYTES = 24;
const LABEL_CHARS = 12;
const FORM = /^tm_vk_[0-9a-f]{48}$/;

/** `raw` is shown once and never stored; the digest and the label are stored. */
export function createVirtualKey() {
  const raw = PREFIX + crypto.randomBytes(RANDOM_BYTES).toString("hex");
  return { raw, digest: Buffer.from(digestHex(raw), "hex"), label: raw.slice(0, LABEL_CHARS) };
}

export function isVirtualKey(text: string): boolean {
  return FORM.test(text);
}

export function digestHex(raw: string): string {
  return crypto.hash("sha256", raw, "hex");
}

interface Waiting {
  readonly digest: string;
  readonly answer: (record: KeyRecord | undefined) => void;
  readonly fail: (fault: unknown) => void;
}

/**
 * Reads keys in batches. After a batch with an unknown key the next batch waits for
 * `KEY_LOOKUP_PAUSE_MS`, so that a flood of random keys costs few statements.
 */
class KeyLookups {
  readonly #keyStore: KeyStore;
  #queue: Waiting[] = [];
  #isScheduled = false;
  #pause: NodeJS.Timeout | undefined;

  constructor(keyStore: KeyStore) {
    this.#keyStore = keyStore;
  }

  find(digest: string): Promise<KeyRecord | undefined> {
    return new Promise((answer, fail) => {
      this.#queue.push({ digest, answer, fail });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#pause !== undefined || this.#queue.length === 0) return;
    this.#isScheduled = true;
    // Requests that arrive in the same turn of the event loop share one query.
    setImmediate(() => void this.#send());
  }

  async #send(): Promise<void> {
    this.#isScheduled = false;
    const batch = this.#queue.splice(0, KEY_LOOKUP_KEYS_MAX);
    // The pause starts before the key store answers, so that a slow store gets the next batch while
    // it works on this one.
    const pause = setTimeout(() => this.#resume(pause), KEY_LOOKUP_PAUSE_MS);
    this.#pause = pause;
    try {
      const records = await this.#keyStore.findByDigests(
        batch.map(({ digest }) => Buffer.from(digest, "hex")),
      );
      for (const { digest, answer } of batch) answer(records.get(digest));
      if (batch.every(({ digest }) => records.has(digest))) this.#resume(pause);
    } catch (fault) {
      for (const { fail } of batch) fail(fault);
    }
  }

  #resume(pause: NodeJS.Timeout): void {
    clearTimeout(pause);
    if (this.#pause !== pause) return;
    this.#pause = undefined;
    this.#schedule();
  }
}
