import { inspect } from "node:util";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { assert } from "../../kernel/core/assert.ts";
import type { OrgId, ProviderId } from "../../kernel/core/ids.ts";
import { sealConnection } from "./postgres-connection-store.ts";
import {
  EncryptionKeyFault,
  openKeyVault,
  SealedKeyFault,
  providerKeyProblem,
  type KeyContext,
  type KeyVault,
} from "./key-vault.ts";

const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString("base64");
const vault = vaultOf(ENCRYPTION_KEY);
const CONTEXT = context("conn_1", "org_1", "acme");
const KEY = "sk-customer-key-0123456789";

const providerKey = fc
  .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 8, maxLength: 200 })
  .map((codes) => String.fromCharCode(...codes))
  .filter((text) => providerKeyProblem(text) === undefined);
const anyContext = fc
  .tuple(fc.string(), fc.string(), fc.string())
  .map(([connectionId, orgId, providerId]) => context(connectionId, orgId, providerId));

function vaultOf(keyBase64: string): KeyVault {
  const opened = openKeyVault(keyBase64);
  assert(opened !== undefined, "an encryption key makes a vault");
  return opened;
}

function context(connectionId: string, orgId: string, providerId: string): KeyContext {
  return { connectionId, orgId: orgId as OrgId, providerId: providerId as ProviderId };
}

describe("a sealed key", () => {
  test("opens again for its connection", () => {
    fc.assert(
      fc.property(providerKey, anyContext, (key, of) => {
        expect(vault.open(vault.seal(key, of), of)).toBe(key);
      }),
    );
  });

  test("does not contain the plain key, and differs each time it is sealed", () => {
    const seals = Array.from({ length: 100 }, () => vault.seal(KEY, CONTEXT));
    expect(new Set(seals.map((each) => each.toString("hex"))).size).toBe(100);
    for (const sealed of seals) expect(sealed.includes(KEY.slice(0, 8))).toBe(false);
  });

  test("with any bit changed is refused", () => {
    const sealed = vault.seal(KEY, CONTEXT);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => vault.open(changed, CONTEXT)).toThrow(SealedKeyFault);
    }
  });

  test("cut short or made longer is refused", () => {
    const sealed = vault.seal(KEY, CONTEXT);
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => vault.open(sealed.subarray(0, length), CONTEXT)).toThrow(SealedKeyFault);
    }
    expect(() => vault.open(Buffer.concat([sealed, sealed]), CONTEXT)).toThrow(SealedKeyFault);
  });

  test("does not open for another connection, organization or provider", () => {
    const sealed = vault.seal(KEY, CONTEXT);
    for (const moved of [
      context("conn_2", "org_1", "acme"),
      context("conn_1", "org_2", "acme"),
      context("conn_1", "org_1", "other"),
      context("conn_1org_1", "", "acme"),
    ]) {
      expect(() => vault.open(sealed, moved)).toThrow(SealedKeyFault);
    }
  });

  test("does not open under another encryption key, and the fault reveals neither key", () => {
    const other = vaultOf(Buffer.alloc(32, 8).toString("base64"));
    const fault = caught(() => other.open(vault.seal(KEY, CONTEXT), CONTEXT));
    expect(fault).toBeInstanceOf(SealedKeyFault);
    expect(inspect(fault, { depth: 9 })).not.toContain(KEY);
    expect(inspect(fault, { depth: 9 })).not.toContain(ENCRYPTION_KEY);
  });
});

describe("a ring of encryption keys", () => {
  const [old, next, third] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte).toString("base64"));

  test("seals with the first and opens what any of them sealed", () => {
    const before = vaultOf(String(old)).seal(KEY, CONTEXT);
    const during = vaultOf(`${old},${next}`).seal(KEY, CONTEXT);
    const ring = vaultOf(`${next},${old}`);
    const after = ring.seal(KEY, CONTEXT);
    const [nextName, oldName] = ring.keyNames;
    const names = [before, during, after].map((sealed) => ring.sealedBy(sealed, CONTEXT));
    expect(names).toEqual([oldName, oldName, nextName]);
    for (const sealed of [before, during, after]) expect(ring.open(sealed, CONTEXT)).toBe(KEY);
    const alone = vaultOf(String(next));
    expect(alone.open(after, CONTEXT)).toBe(KEY);
    for (const sealed of [before, during]) {
      expect(() => alone.open(sealed, CONTEXT)).toThrow(SealedKeyFault);
      expect(alone.sealedBy(sealed, CONTEXT)).toBeUndefined();
    }
  });

  test("that is replaced while the program runs seals and opens with the current keys", () => {
    let keys = String(old);
    const followed = openKeyVault(keys, () => keys);
    const sealed = followed?.seal(KEY, CONTEXT) ?? Buffer.alloc(0);
    keys = `${third},${old}`;
    expect(followed?.open(sealed, CONTEXT)).toBe(KEY);
    const resealed = followed?.seal(KEY, CONTEXT) ?? Buffer.alloc(0);
    expect(vaultOf(String(third)).open(resealed, CONTEXT)).toBe(KEY);
    keys = String(third);
    expect(() => followed?.open(sealed, CONTEXT)).toThrow(SealedKeyFault);
  });

  test("of one key seals in format version 1, which the previous release can open", () => {
    expect(vaultOf(String(old)).seal(KEY, CONTEXT)[0]).toBe(1);
  });

  test("is refused with a duplicate, an empty or a ninth key, and a key's name does not reveal its bytes", () => {
    expect(() => openKeyVault(`${old},${old}`)).toThrow(EncryptionKeyFault);
    const nine = Array.from({ length: 9 }, (_, at) => Buffer.alloc(32, at).toString("base64"));
    expect(() => openKeyVault(nine.join())).toThrow(EncryptionKeyFault);
    expect(() => openKeyVault(`${old},`)).toThrow(EncryptionKeyFault);
    expect(vaultOf(`${third},${old}`).keyNames[0]).not.toContain("03030303");
  });
});

describe("the encryption key", () => {
  test("is optional; without one there is no vault", () => {
    expect(openKeyVault("")).toBeUndefined();
  });

  test.each([
    ["31 bytes long", Buffer.alloc(31, 1).toString("base64")],
    ["33 bytes long", Buffer.alloc(33, 1).toString("base64")],
    ["hexadecimal", "0123456789abcdef".repeat(4)],
    ["interrupted by a space", `${ENCRYPTION_KEY.slice(0, 20)} ${ENCRYPTION_KEY.slice(20)}`],
    ["followed by a line end", `${ENCRYPTION_KEY}\n`],
    ["a sentence", "correct horse battery staple, correct horse"],
  ])("is refused when it is %s, and the fault does not repeat it", (_what, text) => {
    const fault = caught(() => openKeyVault(text));
    expect(fault).toBeInstanceOf(EncryptionKeyFault);
    expect(String(fault)).toContain("openssl rand -base64 32");
    expect(String(fault)).not.toContain(text.slice(0, 12));
  });

  test("is not shown when the vault is printed", () => {
    const bytes = Buffer.alloc(32, 7);
    const printed = inspect(vault, { depth: 9, showHidden: true }) + JSON.stringify(vault);
    expect(printed).not.toContain(ENCRYPTION_KEY);
    expect(printed).not.toContain(bytes.toString("hex").slice(0, 12));
    expect(printed).not.toContain("07 07 07");
  });
});

describe("a provider key", () => {
  test.each([["sk-0123456789"], ["AIzaSyD-x_9~!+/="], ["k".repeat(4_096)]])(
    "%j can be sent",
    (text) => {
      expect(providerKeyProblem(text)).toBeUndefined();
    },
  );

  test.each([
    ["", "empty"],
    ["sk-0123 456789", "space"],
    ["sk-0123456789\r\nx-admin: yes", "line break"],
    ["sk-0123456789\n", "line break"],
    ["sk-01234\u{7f}56789", "ASCII"],
    ["schlüssel-0123456789", "ASCII"],
    ["sk-0123", "8 to 4096"],
    ["k".repeat(4_097), "8 to 4096"],
    [`tm_vk_${"a".repeat(48)}`, "marketplace"],
  ])("%j is refused with a message that does not repeat it", (text, word) => {
    const trouble = providerKeyProblem(text);
    expect(trouble).toContain(word);
    expect(trouble).not.toContain(text === "" ? "nothing" : text);
  });

  test("that fails the check cannot be sealed", () => {
    expect(() => vault.seal("sk-0123456789\r\nx-admin: yes", CONTEXT)).toThrow("checked");
  });
});

test("a connection is stored with its key sealed for it, and the last four characters as a label", () => {
  const orgId = "org_1" as OrgId;
  const providerId = "acme" as ProviderId;
  const wanted = { orgId, providerId, keyId: null, name: "ours", providerKey: KEY };
  const first = sealConnection(vault, wanted);
  const second = sealConnection(vault, wanted);
  expect(first).toMatchObject({ orgId, providerId, keyId: null, name: "ours", label: "6789" });
  expect(vault.open(first.sealedKey, first)).toBe(KEY);
  expect(second.connectionId).not.toBe(first.connectionId);
  expect(() => vault.open(first.sealedKey, second)).toThrow(SealedKeyFault);
  expect(inspect(first)).not.toContain(KEY);
});

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (fault) {
    return fault;
  }
  return undefined;
}
