import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { Fault, type SigningKey } from "../../kernel/index.ts";

/** Thrown if a key file does not hold an Ed25519 key. */
export class SigningKeyFault extends Fault {}

const FILE_MODE = 0o600;

/** Returns the Ed25519 key of a PEM file. Creates the file if it does not exist. */
export function openSigningKey(file: string): SigningKey {
  if (!existsSync(file)) makeKeyFile(file);
  const privateKey = ed25519(file, () => createPrivateKey(readFileSync(file)));
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** Returns the public key of a PEM file with a public or private key; undefined without a file. */
export function readPublicKey(file: string): KeyObject | undefined {
  if (!existsSync(file)) return undefined;
  return ed25519(file, () => createPublicKey(readFileSync(file)));
}

/** Creates a key file. If two processes do so at once, both use the key of the first. */
function makeKeyFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const pem = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" });
  const draft = `${file}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, pem, { mode: FILE_MODE, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (fault) {
    if (!existsSync(file)) throw fault;
  } finally {
    rmSync(draft, { force: true });
  }
}

function ed25519(file: string, read: () => KeyObject): KeyObject {
  let key: KeyObject | undefined;
  try {
    key = read();
  } catch (fault) {
    // Other errors are replaced below, because the parser's message may quote the private key.
    if (fault instanceof Error && "code" in fault && fault.code === "EACCES") throw fault;
  }
  if (key?.asymmetricKeyType === "ed25519") return key;
  throw new SigningKeyFault(`${file}: not an Ed25519 key in PEM; check retention.signing_key_file`);
}
