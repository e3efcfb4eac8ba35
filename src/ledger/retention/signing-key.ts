import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A key file that is not an Ed25519 key. */
export class SigningKeyFault extends Error {
  override readonly name = "SigningKeyFault";
}

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const FILE_MODE = 0o600;

/** The Ed25519 key of a PEM file; it is made when there is no such file. */
export function openSigningKey(file: string): SigningKey {
  if (!existsSync(file)) makeKeyFile(file);
  const privateKey = ed25519(file, () => createPrivateKey(readFileSync(file)));
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** The public key of a PEM file, which may hold the private key too; undefined: no such file. */
export function readPublicKey(file: string): KeyObject | undefined {
  if (!existsSync(file)) return undefined;
  return ed25519(file, () => createPublicKey(readFileSync(file)));
}

/** Two runs that begin at once end with one key: a name is given to a finished file, once. */
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
    // The parser's own message may quote the file.
    if (fault instanceof Error && "code" in fault && fault.code === "EACCES") throw fault;
  }
  if (key?.asymmetricKeyType === "ed25519") return key;
  throw new SigningKeyFault(`${file}: not an Ed25519 key in PEM; check retention.signing_key_file`);
}
