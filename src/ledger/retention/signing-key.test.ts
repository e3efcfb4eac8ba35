import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/run-folder.ts";
import { openSigningKey, readPublicKey } from "./signing-key.ts";

const folder = newFolder("key");

describe("the key that signs exports", () => {
  test("is created at its first use with mode 600, and stays the same", () => {
    const file = join(folder, "data", "key.pem");
    expect(readPublicKey(file)).toBeUndefined();
    const made = openSigningKey(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, "data"))).toEqual(["key.pem"]);
    expect(openSigningKey(file).publicKey.equals(made.publicKey)).toBe(true);
    expect(readPublicKey(file)?.equals(made.publicKey)).toBe(true);
  });

  test("can be the operator's own, whose public half alone verifies but does not sign", () => {
    const own = generateKeyPairSync("ed25519");
    const file = join(folder, "public.pem");
    writeFileSync(file, own.publicKey.export({ format: "pem", type: "spki" }));
    expect(readPublicKey(file)?.equals(own.publicKey)).toBe(true);
    expect(() => openSigningKey(file)).toThrow(/public.pem: not an Ed25519 key/);
  });

  test("is refused if its file holds anything but an Ed25519 key, and the file stays unchanged", () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = other.privateKey.export({ format: "pem", type: "pkcs8" });
    for (const [name, text] of [
      ["other.pem", pem],
      ["text.pem", "a secret that is not a key"],
      ["empty.pem", ""],
    ] as const) {
      const file = join(folder, name);
      writeFileSync(file, text);
      expect(() => openSigningKey(file)).toThrow(
        `${file}: not an Ed25519 key in PEM; check retention.signing_key_file`,
      );
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });
});
