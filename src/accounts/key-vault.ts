import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from "node:crypto";

import { assert, type OrgId, type ProviderId } from "../core/index.ts";

/** Whose key was sealed: it opens with the same three again and with nothing else. */
export interface KeyContext {
  readonly connectionId: string;
  readonly orgId: OrgId;
  readonly providerId: ProviderId;
}

/** Keeps customers' own provider keys: what leaves it sealed can be stored anywhere. */
export interface KeyVault {
  /** Encrypts a provider's key for one connection; the same key twice gives different bytes. */
  seal(providerKey: string, context: KeyContext): Buffer;
  /** The key again. Throws a `SealedKeyFault` when these bytes were not sealed here for this context. */
  open(sealed: Buffer, context: KeyContext): string;
}

/** `encryption_key` is set and is not a valid key. */
export class EncryptionKeyFault extends Error {
  override readonly name = "EncryptionKeyFault";
}

/** A sealed key that does not open: changed, moved, or sealed under another encryption key. */
export class SealedKeyFault extends Error {
  override readonly name = "SealedKeyFault";
}

/** The vault of an encryption key of 32 bytes in base64; undefined when the text is empty. */
export function openKeyVault(keyBase64: string): KeyVault | undefined {
  if (keyBase64 === "") return undefined;
  const bytes = Buffer.from(keyBase64, "base64");
  // Node reads over what is not base64: only a text that comes back as it was has been read whole.
  if (bytes.length !== KEY_BYTES || bytes.toString("base64") !== keyBase64) {
    throw new EncryptionKeyFault(
      "encryption_key (TM_ENCRYPTION_KEY) must be 32 bytes in base64; make one with `openssl rand -base64 32`",
    );
  }
  return new AesVault(createSecretKey(bytes));
}

/**
 * What is wrong with a provider's key, in a text that does not repeat it; undefined: nothing. It
 * will stand in a header, so nothing may be in it that could end the header.
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
/** First byte of what is sealed: another way to seal would have another. */
const VERSION = 1;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/* Sealed: version, nonce, tag, encrypted key. The version and the context are authenticated too. */
class AesVault implements KeyVault {
  readonly #key: KeyObject;

  constructor(key: KeyObject) {
    this.#key = key;
  }

  seal(providerKey: string, context: KeyContext): Buffer {
    assert(providerKeyProblem(providerKey) === undefined, "a key was checked before it is sealed");
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(authenticated(context));
    const encrypted = Buffer.concat([cipher.update(providerKey, "latin1"), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), encrypted]);
  }

  open(sealed: Buffer, context: KeyContext): string {
    if (sealed.length <= HEAD_BYTES || sealed[0] !== VERSION) throw notOpened();
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(authenticated(context));
    decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
    try {
      return (
        decipher.update(sealed.subarray(HEAD_BYTES), undefined, "latin1") + decipher.final("latin1")
      );
    } catch {
      throw notOpened();
    }
  }
}

function authenticated({ connectionId, orgId, providerId }: KeyContext): Buffer {
  return Buffer.from(JSON.stringify([VERSION, connectionId, orgId, providerId]));
}

function notOpened(): SealedKeyFault {
  return new SealedKeyFault(
    "the stored key of this connection cannot be decrypted; was it stored with another encryption_key?",
  );
}
