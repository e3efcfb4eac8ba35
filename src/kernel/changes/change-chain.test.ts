import { createHash, generateKeyPairSync } from "node:crypto";

import { describe, expect, test } from "vitest";

import { createOrgId } from "../core/ids.ts";
import type { RecordedChange } from "./change.ts";
import { checkChain, exportLines } from "./change-chain.ts";

const key = generateKeyPairSync("ed25519");
const orgId = createOrgId();

function change(position: number): RecordedChange {
  return {
    position,
    atMs: Date.UTC(2026, 8, 1) + position,
    by: { kind: "operator", id: "ann", requestId: null, clientNetwork: null },
    action: "key.cap",
    orgId,
    target: `key_${position}`,
    before: { cap_usd: null },
    after: { cap_usd: '"quoted", and a line end of its own: ,"hash":"x"}' },
  };
}

async function exported(count: number): Promise<string[]> {
  const all = Array.from({ length: count }, (_, at) => change(at + 1));
  const lines: string[] = [];
  const of = { filter: { sinceMs: 0, orgId }, nowMs: 0, privateKey: key.privateKey };
  async function* blocks(): AsyncGenerator<readonly RecordedChange[]> {
    yield all.slice(0, 2);
    yield all.slice(2);
  }
  for await (const line of exportLines(blocks(), of)) lines.push(line);
  return lines;
}

async function wrongLines(lines: readonly string[]): Promise<readonly number[]> {
  const { problems } = await checkChain(lines, key.publicKey);
  return [...new Set(problems.map(({ line }) => line))];
}

describe("an export of the change log", () => {
  test("passes the check if nobody edited it, and contains what was recorded", async () => {
    const lines = await exported(5);
    expect(await checkChain(lines, key.publicKey)).toMatchObject({
      changes: 5,
      problems: [],
      seal: { changes: 5, org_id: orgId, action_prefix: null },
    });
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({
      position: 3,
      at: "2026-09-01T00:00:00.003Z",
      actor_kind: "operator",
      actor_id: "ann",
      after: change(3).after,
    });
  });

  test("passes the check if its lines end with CR and LF, and with no other character added", async () => {
    const lines = (await exported(3)).map((line) => `${line}\r`);
    expect(await wrongLines(lines)).toEqual([]);
    expect(await wrongLines(lines.with(1, `${lines[1] ?? ""}\r`))).toContain(2);
  });

  test("passes the check if it contains no changes", async () => {
    expect(await wrongLines(await exported(0))).toEqual([]);
  });

  test("fails the check at the line after one that was removed", async () => {
    for (const at of [0, 1, 4]) {
      const lines = (await exported(5)).toSpliced(at, 1);
      expect(await wrongLines(lines)).toContain(at + 1);
    }
  });

  test("fails the check at a line of which any single byte was edited", async () => {
    const lines = await exported(3);
    const line = lines[1] ?? "";
    for (let at = 0; at < line.length; at += 1) {
      const edited = `${line.slice(0, at)}~${line.slice(at + 1)}`;
      expect(await wrongLines(lines.with(1, edited))).toContain(2);
    }
  });

  test("fails the check at lines that changed places", async () => {
    const [one = "", two = "", ...rest] = await exported(4);
    expect(await wrongLines([two, one, ...rest])).toEqual([1, 2, 3]);
  });

  test("fails the check at an edited line, or at the next line if the edited one was hashed again", async () => {
    const lines = await exported(3);
    const edited = (lines[1] ?? "").replace("key_2", "key_9");
    expect(await wrongLines(lines.with(1, edited))).toEqual([2]);
    const end = /,"hash":"[0-9a-f]{64}"\}$/;
    const hash = createHash("sha256").update(edited.replace(end, "}")).digest("hex");
    const forged = edited.replace(end, `,"hash":"${hash}"}`);
    expect(await wrongLines(lines.with(1, forged))).toEqual([3]);
  });

  test("fails the check if its end was cut off, or if another key sealed it", async () => {
    const lines = await exported(3);
    expect(await wrongLines(lines.slice(0, 3))).toEqual([4]);
    const stranger = generateKeyPairSync("ed25519").publicKey;
    const { problems } = await checkChain(lines, stranger);
    expect(problems).toEqual([{ line: 4, problem: "it is not signed by this key" }]);
  });

  test("fails the check if a line follows its seal", async () => {
    const lines = await exported(2);
    expect(await wrongLines([...lines, lines[0] ?? ""])).toEqual([4]);
  });
});
