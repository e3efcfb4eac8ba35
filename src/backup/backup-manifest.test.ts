import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import {
  type BackupManifest,
  readBackup,
  signBackup,
  type SignedBackup,
} from "./backup-manifest.ts";
import { findBackups, type FoundBackup, ManifestReader } from "./backup-folder.ts";
import { isDue } from "./backup-keeper.ts";
import { planPrune } from "./prune-backups.ts";
import { chooseBackup } from "./restore-backup.ts";

const key = generateKeyPairSync("ed25519");
const other = generateKeyPairSync("ed25519");

/** A copy of this day of November, whose log begins with the segment of the same number. */
function manifestOf(day: number): BackupManifest {
  const date = `2026-11-${String(day).padStart(2, "0")}`;
  return {
    name: `base-${date.replaceAll("-", "")}T000000Z`,
    life: "0123456789ab",
    startedAt: `${date}T00:00:00.000Z`,
    finishedAt: `${date}T00:01:00.000001Z`,
    postgresVersion: "18\n",
    schema: "0011-purchase-prices",
    firstSegment: segment(day),
    lastSegment: segment(day),
    segmentBytes: 16 * 1024 * 1024,
    restorePoint: `tokenmarket-${day}`,
    sums: { accounts: 3n, debits: 10n ** 20n, credits: 10n ** 20n, reserved: 1n },
    folders: ["base/1"],
    files: [{ path: "base/1/1", bytes: 8192, sha256: "ab".repeat(32) }],
  };
}

function segment(number: number): string {
  return `0000000100000000${number.toString(16).toUpperCase().padStart(8, "0")}`;
}

function found(day: number, manifest: SignedBackup | string = read(signed(day))): FoundBackup {
  const folder = `/backups/${manifestOf(day).name}`;
  return { folder, lifeFolder: "/backups", manifest, verifiedAt: undefined };
}

function signed(day: number): string {
  return signBackup(manifestOf(day), key);
}

function read(text: string): SignedBackup {
  const manifest = readBackup(text);
  if (typeof manifest === "string") throw new Error(manifest);
  return manifest;
}

test("a manifest is read as it was signed, with sums beyond any float", () => {
  expect(read(signed(3))).toMatchObject({ ...manifestOf(3), isSigned: true });
});

test("a manifest that was changed anywhere has a wrong signature", () => {
  const text = signed(3);
  for (const [from, to] of [
    ["100000000000000000000", "200000000000000000000"],
    ["abab", "abac"],
    ["base/1/1", "base/1/2"],
    ["2026-11-03T00:01", "2026-11-03T00:02"],
  ] as const) {
    expect(text).toContain(from);
    expect(read(text.replace(from, to)).isSigned).toBe(false);
  }
});

test("a manifest cannot name a file outside of its copy", () => {
  for (const path of ["../../etc/passwd", "/etc/passwd", "base//1", "a\\..\\b"]) {
    const evil = { ...manifestOf(3), files: [{ path, bytes: 1, sha256: "ab".repeat(32) }] };
    expect(readBackup(signBackup(evil, key))).toContain("is not a path within the copy");
  }
});

test("a file that is no manifest is refused in words", () => {
  expect(readBackup("")).toContain("JSON");
  expect(readBackup("{}")).toContain("not of the format");
});

test("the newest copy that ends before the time is chosen", () => {
  const copies = [found(3), found(4), found(5)];
  const asked = { from: "/backups", trusted: key.publicKey };
  const nameAt = (time: string): string =>
    chooseBackup(copies, { ...asked, at: { time } }).manifest.name;
  expect(nameAt("2026-11-04T23:00:00Z")).toBe(manifestOf(4).name);
  expect(nameAt("2026-11-04T02:00:59+02:00")).toBe(manifestOf(3).name);
  expect(chooseBackup(copies, { ...asked, at: "end" }).manifest.name).toBe(manifestOf(5).name);
  expect(() => nameAt("2026-11-03T00:00:30Z")).toThrow(/ends at 2026-11-03T00:01:00.000001Z/);
  expect(() => chooseBackup([], { ...asked, at: "end" })).toThrow(
    /there is no backup in \/backups/,
  );
});

test("a copy that another key signed is refused, and so is one that was changed", () => {
  const asked = { from: "/backups", at: "end" } as const;
  expect(() => chooseBackup([found(3)], { ...asked, trusted: other.publicKey })).toThrow(
    /the signature is wrong: it is of another key/,
  );
  const changed = found(3, read(signed(3).replace('"accounts":"3"', '"accounts":"4"')));
  expect(() => chooseBackup([changed], { ...asked, trusted: "own" })).toThrow(
    /the signature is wrong: backup.json was changed/,
  );
  // An older good one serves as well: the log leads on from it.
  const both = [found(2), changed];
  expect(chooseBackup(both, { ...asked, trusted: key.publicKey }).manifest.name).toBe(
    manifestOf(2).name,
  );
});

test("the newest good copies are kept, with the log that the oldest of them needs", () => {
  const copies = [
    found(1),
    found(2, "backup.json is missing"),
    found(3),
    found(4, "broken"),
    found(5),
  ];
  const plan = planPrune(copies, 2);
  expect(plan.backups).toEqual(copies.slice(0, 2));
  expect(plan.beforeSegment).toBe(segment(3));
  expect(planPrune(copies, 9)).toEqual({ backups: [], beforeSegment: segment(1) });
});

test("nothing is deleted while no copy is good", () => {
  const copies = [found(1, "broken"), found(2, "broken")];
  expect(planPrune(copies, 1)).toEqual({ backups: [], beforeSegment: undefined });
});

test("a copy is due by its age, and at once when the log behind the newest has a hole", () => {
  const endMs = Date.parse("2026-11-03T00:01:00Z");
  const whole = { backups: [found(3)], segments: new Set([segment(3), segment(4)]) };
  const holed = { ...whole, segments: new Set([segment(3), segment(5)]) };
  const hourMs = 3_600_000;
  expect(isDue({ ...whole, backups: [] }, endMs, 24)).toBe(true);
  expect(isDue(whole, endMs + 23 * hourMs, 24)).toBe(false);
  expect(isDue(whole, endMs + 25 * hourMs, 24)).toBe(true);
  expect(isDue(holed, endMs, 24)).toBe(true);
});

test("who looks at a folder of copies every few seconds reads each manifest once", async () => {
  const root = mkdtempSync(join(tmpdir(), "tokenmarket-manifests-"));
  const write = (day: number, text: string): void => {
    const folder = join(root, manifestOf(day).name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "backup.json"), text);
  };
  write(3, signed(3));
  write(4, signed(4));
  const reader = new ManifestReader();
  const look = async (): Promise<readonly FoundBackup["manifest"][]> =>
    (await findBackups(root, reader)).map(({ manifest }) => manifest);
  const first = await look();
  expect(first).toMatchObject([manifestOf(3), manifestOf(4)]);
  write(4, signed(4).replace("tokenmarket-4", "tokenmarket-5"));
  const [three, four] = await look();
  expect(three).toBe(first[0]);
  expect(four).toMatchObject({ restorePoint: "tokenmarket-5", isSigned: false });
  rmSync(join(root, manifestOf(3).name), { recursive: true });
  expect(await look()).toEqual([four]);
  write(3, signed(3));
  expect((await look())[0]).not.toBe(three);
  rmSync(root, { recursive: true });
});
