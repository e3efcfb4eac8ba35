import { crc32, inflateSync } from "node:zlib";

import { expect, test } from "vitest";

import { BLUE, renderMp4, renderPdf, renderPng, RED, renderWav } from "./media-files.ts";

test("a rendered PNG is valid, and has its colour in every pixel", () => {
  const file = renderPng(BLUE);
  const chunks = pngChunks(file);
  expect(chunks.map(({ name }) => name)).toEqual(["IHDR", "IDAT", "IEND"]);
  const rows = inflateSync(chunks[1]?.data ?? Buffer.alloc(0));
  expect(rows).toHaveLength(64 * (1 + 64 * 3));
  for (let at = 0; at < rows.length; at += 1) {
    const inRow = at % (1 + 64 * 3);
    expect(rows[at]).toBe(inRow === 0 ? 0 : BLUE[(inRow - 1) % 3]);
  }
  expect(renderPng(RED)).not.toEqual(file);
});

function pngChunks(file: Buffer): { readonly name: string; readonly data: Buffer }[] {
  const chunks: { name: string; data: Buffer }[] = [];
  for (let at = 8; at < file.length;) {
    const end = at + 8 + file.readUInt32BE(at);
    expect(file.readUInt32BE(end)).toBe(crc32(file.subarray(at + 4, end)));
    chunks.push({
      name: file.toString("latin1", at + 4, at + 8),
      data: file.subarray(at + 8, end),
    });
    at = end + 4;
  }
  return chunks;
}

test("a rendered PDF has the true offsets of its objects and its cross-reference table", () => {
  const file = renderPdf("The fruit of this page is the plum.").toString("latin1");
  const tableAt = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(file)?.[1]);
  expect(file.slice(tableAt, tableAt + 9)).toBe("xref\n0 6\n");
  const offsets = Array.from(file.slice(tableAt).matchAll(/^(\d{10}) 00000 n $/gm), ([, at]) =>
    Number(at),
  );
  expect(offsets).toHaveLength(5);
  for (const [at, offset] of offsets.entries()) {
    expect(file.slice(offset, offset + 8)).toBe(`${at + 1} 0 obj\n`);
  }
  const drawn = /<< \/Length (\d+) >>\nstream\n(.*)\nendstream/.exec(file);
  expect(drawn?.[2]).toHaveLength(Number(drawn?.[1]));
  expect(drawn?.[2]).toContain("(The fruit of this page is the plum.) Tj");
});

test("a rendered WAV is one second of a tone, or of silence", () => {
  const [tone, silence] = [renderWav(440), renderWav(0)];
  for (const file of [tone, silence]) {
    expect(file.readUInt32LE(4)).toBe(file.length - 8);
    expect(file.readUInt32LE(40)).toBe(file.length - 44);
    expect(file.length).toBe(44 + 2 * 16_000);
  }
  expect(silence.subarray(44).every((byte) => byte === 0)).toBe(true);
  const samples = Array.from({ length: 16_000 }, (_, at) => tone.readInt16LE(44 + 2 * at));
  const rises = samples.filter((sample, at) => sample >= 0 && (samples[at - 1] ?? 0) < 0);
  expect(rises.length).toBeGreaterThanOrEqual(439);
  expect(rises.length).toBeLessThanOrEqual(440);
});

test("a rendered MP4 consists of whole boxes, and states the true offset of its frames", () => {
  for (const colour of ["red", "blue"] as const) {
    const file = renderMp4(colour);
    const boxes = boxesOf(file);
    expect(boxes.map(({ name }) => name)).toEqual(["ftyp", "moov", "free", "mdat"]);
    const offsetsAt = file.indexOf("stco");
    expect(file.readUInt32BE(offsetsAt + 12)).toBe((boxes[3]?.at ?? 0) + 8);
  }
  expect(renderMp4("red")).toHaveLength(renderMp4("blue").length);
  expect(renderMp4("red")).not.toEqual(renderMp4("blue"));
});

function boxesOf(file: Buffer): { readonly name: string; readonly at: number }[] {
  const boxes: { name: string; at: number }[] = [];
  for (let at = 0; at < file.length; at += file.readUInt32BE(at)) {
    boxes.push({ name: file.toString("latin1", at + 4, at + 8), at });
  }
  return boxes;
}
