import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from "node:crypto";

import {
  assert,
  type ChangedBy,
  Fault,
  memoizeByText,
  type OrgId,
  type ProviderId,
  type Public,
} from "../../kernel/index.ts";

/** The owner of a sealed key. The key opens only with the three values with which it was sealed. */
export interface KeyContext {
  readonly connectionId: string;
  readonly orgId: OrgId;
  /** The provider of the key; `webhook` for the secret of one of the organization's webhooks. */
  readonly providerId: ProviderId | "webhook";
}

export type KeyVault = Public<AesVault>;

export class EncryptionKeyFault extends Fault {}

/** Thrown for bytes that were changed, moved to another context, or sealed under an unknown key. */
export class SealedKeyFault extends Fault {}

/**
 * Opens a vault with one encryption key of 32 bytes in base64, or with several, separated by
 * commas: the first seals, and all of them open. Returns undefined if the text is empty. `inForce`
 * is read at each use, so that the keys may change while the vault is open.
 */
export function openKeyVault(
  keysBase64: string,
  inForce: () => string = () => keysBase64,
): KeyVault | undefined {
  if (keysBase64 === "") return undefined;
  return new AesVault(memoizeByText(inForce, (text) => readEncryptionKeys(text).map(ringKey)));
}

/** Throws an `EncryptionKeyFault` unless the text has 1 to 8 different keys of 32 bytes. */
export function readEncryptionKeys(keysBase64: string): readonly Buffer[] {
  const texts = keysBase64.split(",");
  const keys = texts.map((text) => Buffer.from(text, "base64"));
  // Node skips characters that are not base64, so the text is compared with its re-encoding.
  const isValid = keys.every(
    (key, at) => key.length === KEY_BYTES && key.toString("base64") === texts[at],
  );
  if (!isValid) {
    throw new EncryptionKeyFault(
      "encryption_key (TM_ENCRYPTION_KEY) must be 32 bytes in base64, or several such keys with commas " +
        "between them; make one with `openssl rand -base64 32`",
    );
  }
  if (new Set(texts).size < texts.length || texts.length > KEYS_MAX) {
    throw new EncryptionKeyFault(
      `encryption_key (TM_ENCRYPTION_KEY) must have different keys, ${KEYS_MAX} at most`,
    );
  }
  return keys;
}

/** The most encryption keys, because a decryption may try them all. A rotation needs two. */
const KEYS_MAX = 8;

/**
 * Says what is wrong with a provider's key, without repeating the key; undefined if it is valid.
 * The key is sent in a header, so it must not contain characters that could end the header.
 */
export function providerKeyProblem(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (!/^[\x21-\x7e]+$/.test(text)) {
    return "it has a space, a line break or a character that is not ASCII";
  }
  if (text.length < PROVIDER_KEY_CHARS_MIN || text.length > PROVIDER_KEY_CHARS_MAX) {
    return `it must have ${PROVIDER_KEY_CHARS_MIN} to ${PROVIDER_KEY_CHARS_MAX} characters`;
  }
  if (text.startsWith("tm_vk_"))
    return "it is a key of this marketplace, which must not be sent to a provider";
  return undefined;
}

const PROVIDER_KEY_CHARS_MIN = 8;
const PROVIDER_KEY_CHARS_MAX = 4_096;

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NAME_BYTES = 8;
/** First byte of format version 1, which names no encryption key. Every release can open it. */
const UNNAMED = 1;
/** First byte of format version 2, which is followed by the name of the encryption key. */
const NAMED = 2;

interface RingKey {
  readonly key: KeyObject;
  readonly name: Buffer;
}

function ringKey(bytes: Buffer): RingKey {
  const name = hkdfSync("sha256", bytes, "", "tokenmarket encryption key name", NAME_BYTES);
  return { key: createSecretKey(bytes), name: Buffer.from(name) };
}

/**
 * The format of sealed bytes: version, name of the key (version 2), nonce, tag, encrypted key. The
 * context and the bytes before the nonce are authenticated too. A single key seals in version 1, so
 * that the previous release can open it.
 */
class AesVault {
  readonly #ring: () => readonly RingKey[];

  constructor(ring: () => readonly RingKey[]) {
    this.#ring = ring;
  }

  /** The names of the encryption keys, which do not reveal the keys. The first key seals. */
  get keyNames(): readonly string[] {
    return this.#ring().map(({ name }) => name.toString("hex"));
  }

  /** Sealing the same key twice gives different bytes. */
  seal(providerKey: string, context: KeyContext): Buffer {
    assert(providerKeyProblem(providerKey) === undefined, "a key was checked before it is sealed");
    const ring = this.#ring();
    const [first] = ring;
    assert(first !== undefined, "a vault has a key");
    const head =
      ring.length === 1 ? Buffer.of(UNNAMED) : Buffer.concat([Buffer.of(NAMED), first.name]);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, first.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(authenticated(head, context));
    const encrypted = Buffer.concat([cipher.update(providerKey, "latin1"), cipher.final()]);
    return Buffer.concat([head, nonce, cipher.getAuthTag(), encrypted]);
  }

  /** Throws a `SealedKeyFault` unless one of the keys sealed these bytes for this context. */
  open(sealed: Buffer, context: KeyContext): string {
    const opened = this.#open(sealed, context);
    if (opened === undefined) {
      throw new SealedKeyFault(
        "the stored key of this connection cannot be decrypted; was it stored with another encryption_key?",
      );
    }
    return opened.text;
  }

  sealedBy(sealed: Buffer, context: KeyContext): string | undefined {
    return this.#open(sealed, context)?.by.name.toString("hex");
  }

  #open(
    sealed: Buffer,
    context: KeyContext,
  ): { readonly text: string; readonly by: RingKey } | undefined {
    for (const by of this.#ring()) {
      const text = openWith(by, sealed, context);
      if (text !== undefined) return { text, by };
    }
    return undefined;
  }
}

function openWith({ key, name }: RingKey, sealed: Buffer, context: KeyContext): string | undefined {
  const head = sealed.subarray(0, sealed[0] === NAMED ? 1 + NAME_BYTES : 1);
  const body = sealed.subarray(head.length);
  if (body.length <= NONCE_BYTES + TAG_BYTES) return undefined;
  const isNamed = sealed[0] === NAMED && head.subarray(1).equals(name);
  if (!isNamed && sealed[0] !== UNNAMED) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, body.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(authenticated(head, context));
  decipher.setAuthTag(body.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    const encrypted = body.subarray(NONCE_BYTES + TAG_BYTES);
    return decipher.update(encrypted, undefined, "latin1") + decipher.final("latin1");
  } catch {
    return undefined;
  }
}

function authenticated(head: Buffer, context: KeyContext): Buffer {
  const { connectionId, orgId, providerId } = context;
  // Must never change: the stored keys would no longer open.
  const sealedAs = head.length === 1 ? [UNNAMED] : [NAMED, head.toString("hex")];
  return Buffer.from(JSON.stringify([...sealedAs, connectionId, orgId, providerId]));
}

export interface SealedRow {
  readonly id: string;
  readonly sealed: Buffer;
  readonly context: KeyContext;
}

export interface SealedRows {
  /** Lists the sealed rows of at most `max` ids after `after`, in the order of the ids. */
  listSealed(after: string, max: number): Promise<readonly SealedRow[]>;
  /** Replaces the bytes of each row that still has its old bytes; returns how many it replaced. */
  reseal(
    changed: readonly (SealedRow & { readonly resealed: Buffer })[],
    by: ChangedBy,
  ): Promise<number>;
}

/** Seals the rows of other keys again with the first key. Repeatable, also while rows change. */
export async function resealRows(tables: readonly SealedRows[], vault: KeyVault, by: ChangedBy) {
  let [resealed, kept] = [0, 0];
  const unopened = new Set<string>();
  for await (const { table, batch } of batches(tables)) {
    const others: (SealedRow & { readonly resealed: Buffer })[] = [];
    for (const each of batch) {
      const name = vault.sealedBy(each.sealed, each.context);
      if (name === undefined) unopened.add(each.id);
      else if (name === vault.keyNames[0]) kept += 1;
      else {
        const secret = vault.open(each.sealed, each.context);
        others.push({ ...each, resealed: vault.seal(secret, each.context) });
      }
    }
    if (others.length > 0) resealed += await table.reseal(others, by);
  }
  // `unopened` are the ids of rows that no key of the vault opens; they are not changed.
  return { resealed, kept, unopened: [...unopened] };
}

export async function countSealedBy(
  tables: readonly SealedRows[],
  vault: KeyVault,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(vault.keyNames.map((name) => [name, 0]));
  for await (const { batch } of batches(tables)) {
    for (const { sealed, context } of batch) {
      const name = vault.sealedBy(sealed, context) ?? "unknown";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

const BATCH = 200;

async function* batches(
  tables: readonly SealedRows[],
): AsyncGenerator<{ readonly table: SealedRows; readonly batch: readonly SealedRow[] }> {
  for (const table of tables) {
    let batch = await table.listSealed("", BATCH);
    for (let last = batch.at(-1); last !== undefined; last = batch.at(-1)) {
      yield { table, batch };
      batch = await table.listSealed(last.id, BATCH);
    }
  }
}
