import { hash } from "node:crypto";

export type Film =
  | {
      readonly ok: true;
      /** Undefined if the head of the file does not state the duration. */
      readonly seconds: number | undefined;
      /** Hash of the first bytes of picture data. Equal films have equal hashes. */
      readonly shown: string;
    }
  | { readonly ok: false; readonly flaw: string };

const WEBM = Buffer.from("1a45dfa3", "hex");
const BOXES_MAX = 64;
const BOX_HEAD_BYTES = 16;

/** `read` returns the bytes from position `from` on, and fewer near the end of the file. */
export async function readFilm(
  read: (from: number) => Promise<Buffer>,
  lengthBytes: number,
): Promise<Film> {
  const first = await read(0);
  if (first.subarray(0, WEBM.length).equals(WEBM)) {
    return { ok: true, seconds: undefined, shown: hash("sha256", first) };
  }
  if (first.toString("latin1", 4, 8) !== "ftyp") return flawed("the file is no film");
  let seconds: number | undefined;
  let shown: string | undefined;
  let at = 0;
  for (let box = 0; at < lengthBytes && box < BOXES_MAX; box += 1) {
    const bytes = at === 0 ? first : await read(at);
    if (bytes.length < 8) return flawed("the file ends in the middle of the film");
    const kind = bytes.toString("latin1", 4, 8);
    const [head, size] = readSizes(bytes, lengthBytes - at);
    if (size < head || at + size > lengthBytes) {
      return flawed("the file ends in the middle of the film");
    }
    if (kind === "moov") seconds = secondsIn(bytes) ?? seconds;
    if (kind === "mdat" && size > head) shown ??= hash("sha256", bytes.subarray(head, size));
    at += size;
  }
  return shown === undefined ? flawed("the file has no film in it") : { ok: true, seconds, shown };
}

function flawed(flaw: string): Film {
  return { ok: false, flaw };
}

/**
 * Returns the size of an MP4 box's head and of the whole box, in bytes. If the box states the size
 * 0, it takes the rest of the file (`left`); if it states 1, a 64-bit size follows.
 */
function readSizes(bytes: Buffer, left: number): readonly [head: number, size: number] {
  const size = bytes.readUInt32BE(0);
  if (size === 0) return [8, left];
  if (size !== 1 || bytes.length < BOX_HEAD_BYTES) return [8, size];
  return [BOX_HEAD_BYTES, Number(bytes.readBigUInt64BE(8))];
}

/** Returns undefined for a fragmented film, whose head states the duration 0. */
function secondsIn(movie: Buffer): number | undefined {
  const at = movie.indexOf("mvhd", 0, "latin1") + 4;
  const isLong = movie[at] === 1;
  if (at < 4 || movie.length < at + (isLong ? 32 : 20)) return undefined;
  const scale = movie.readUInt32BE(at + (isLong ? 20 : 12));
  const length = isLong ? Number(movie.readBigUInt64BE(at + 24)) : movie.readUInt32BE(at + 16);
  return scale === 0 || length === 0 ? undefined : length / scale;
}
