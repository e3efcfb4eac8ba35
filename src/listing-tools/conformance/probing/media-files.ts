import { crc32, deflateSync } from "node:zlib";

/** Red, green and blue, from 0 to 255. */
export type Colour = readonly [number, number, number];

export const RED: Colour = [220, 20, 20];
export const BLUE: Colour = [20, 40, 220];

const SIDE = 64;
const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

export function renderPng(colour: Colour, width = SIDE, height = SIDE): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Bit depth 8 and color type 2, which means three channels.
  head.set([8, 2], 8);
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(3 * width, Buffer.from(colour))]);
  return Buffer.concat([
    PNG_SIGNATURE,
    pngChunk("IHDR", head),
    pngChunk("IDAT", deflateSync(Buffer.alloc(height * row.length, row))),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Renders one page with `line`, which may have only letters, digits, spaces and full stops. */
export function renderPdf(line: string): Buffer {
  const drawn = `BT /F1 24 Tf 40 120 Td (${line}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 480 240] /Contents 4 0 R " +
      "/Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
  ];
  let file = "%PDF-1.4\n";
  const offsets: number[] = [];
  for (const [at, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
  }
  const count = objects.length + 1;
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const table = `xref\n0 ${count}\n0000000000 65535 f \n${rows}`;
  const end = `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(file + table + end, "latin1");
}

const SAMPLES_PER_SECOND = 16_000;
const SOUND_SECONDS = 1;
const LOUDNESS = 12_000;
const WAV_HEAD_BYTES = 44;

/** Renders one second of sound: a tone, or silence if `hertz` is 0. */
export function renderWav(hertz: number): Buffer {
  const samples = SAMPLES_PER_SECOND * SOUND_SECONDS;
  const file = Buffer.alloc(WAV_HEAD_BYTES + 2 * samples);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  // Format 1 means uncompressed samples; the 1 after it means one channel.
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  file.writeUInt32LE(2 * SAMPLES_PER_SECOND, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(2 * samples, 40);
  for (let at = 0; at < samples; at += 1) {
    const phase = (2 * Math.PI * hertz * at) / SAMPLES_PER_SECOND;
    file.writeInt16LE(Math.round(LOUDNESS * Math.sin(phase)), WAV_HEAD_BYTES + 2 * at);
  }
  return file;
}

/** Two seconds of H.264, 64 by 64 pixels of one color. The two files differ in nothing else. */
export function renderMp4(colour: "red" | "blue"): Buffer {
  return Buffer.concat([MP4_HEAD, Buffer.from(MP4_FRAMES[colour], "base64")]);
}

/** The file before its frames: their positions and coding, which are equal for both colors. */
const MP4_HEAD = Buffer.from(
  "AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDEAAAMRbW9vdgAAAGxtdmhkAAAAAAAAAAAAAAAAAAAD6AAA" +
    "B9AAAQAAAQAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAgAAAmB0cmFrAAAAXHRraGQAAAADAAAAAAAAAAAAAAABAAAAAAAAB9AAAAAAAAAAAAAA" +
    "AAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAEAAAABAAAAAAAAkZWR0cwAAABxlbHN0" +
    "AAAAAAAAAAEAAAfQAAAAAAABAAAAAAHYbWRpYQAAACBtZGhkAAAAAAAAAAAAAAAAAABAAAAAgABVxAAAAAAALWhk" +
    "bHIAAAAAAAAAAHZpZGUAAAAAAAAAAAAAAABWaWRlb0hhbmRsZXIAAAABg21pbmYAAAAUdm1oZAAAAAEAAAAAAAAA" +
    "AAAAACRkaW5mAAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAUNzdGJsAAAAu3N0c2QAAAAAAAAAAQAAAKth" +
    "dmMxAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAEAAQABIAAAASAAAAAAAAAABDExhdmMgbGlieDI2NAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAGP//AAAAMWF2Y0MBQsAK/+EAGGdCwAqmERCbARAAAAMAEAAAAwBA8SJhGAEABmjIQgRLIAAA" +
    "ABBwYXNwAAAAAQAAAAEAAAAUYnRydAAAAAAAAAEMAAAAAAAAABhzdHRzAAAAAAAAAAEAAAAEAAAgAAAAABRzdHNz" +
    "AAAAAAAAAAEAAAABAAAAHHN0c2MAAAAAAAAAAQAAAAEAAAAEAAAAAQAAACRzdHN6AAAAAAAAAAAAAAAEAAAAIwAA" +
    "AAoAAAALAAAACwAAABRzdGNvAAAAAAAAAAEAAANBAAAAPXVkdGEAAAA1bWV0YQAAAAAAAAAhaGRscgAAAAAAAAAA" +
    "bWRpcmFwcGwAAAAAAAAAAAAAAAAIaWxzdAAAAAhmcmVl",
  "base64",
);

const MP4_FRAMES = {
  red:
    "AAAAS21kYXQAAAAfZYiCAp4jFAAEs+OAAIqMcAAUKL776666666666668AAAAAZBmhwFPCMAAAAHQZoqAU8IwAAA" +
    "AAdBmjsBLwjA",
  blue:
    "AAAAS21kYXQAAAAfZYiCAp4jFAAFU+OAAKFEcAAQjb776666666666668AAAAAZBmhwFPCMAAAAHQZoqAU8IwAAA" +
    "AAdBmjsBLwjA",
};
