import { isUtf8 } from "node:buffer";

import { invalidRequest, refused, type Refused, type Result } from "../../../kernel/index.ts";

/** More than any video request has. */
const PARTS_MAX = 32;
const PART_HEAD_BYTES_MAX = 4_096;
/** RFC 2046, section 5.1.1. */
const BOUNDARY = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i;
const LINE_END = "\r\n";

/**
 * The text fields of a form (RFC 7578) as the JSON object that they stand for: one official client
 * sends every video request as one. A file in it is refused by its name: no images are taken.
 */
export function jsonOfForm(body: Buffer, contentType: string): Result<{ readonly json: Buffer }> {
  const found = BOUNDARY.exec(contentType);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) return notAForm("its content-type names no boundary");
  const members = new Map<string, string>();
  for (const part of partsOf(body, `--${boundary}`)) {
    if (part === undefined || members.size === PARTS_MAX) return notAForm("it cannot be read");
    const { name, isFile, text } = part;
    if (isFile) return refuse(`${name} is a file; videos are made from a text alone`);
    if (members.has(name)) return refuse(`${name} is duplicated; send it once`);
    members.set(name, jsonValue(name, text));
  }
  const fields = [...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  return { ok: true, json: Buffer.from(`{${fields.join(",")}}`) };
}

/** A form has texts only; the one switch of a video is a word there. */
function jsonValue(name: string, text: string): string {
  const isSwitch = name === "generate_audio" && (text === "true" || text === "false");
  return isSwitch ? text : JSON.stringify(text);
}

interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  readonly text: string;
}

/** Undefined: what comes there is no part. */
function* partsOf(body: Buffer, delimiter: string): Generator<FormPart | undefined> {
  let at = body.indexOf(delimiter) === 0 ? delimiter.length : -1;
  while (at !== -1) {
    if (body.toString("latin1", at, at + 2) === "--") return;
    const headAt = at + LINE_END.length;
    const headEnd = body.indexOf(LINE_END + LINE_END, at);
    const textEnd = body.indexOf(LINE_END + delimiter, headEnd);
    const isPart = headEnd !== -1 && headEnd - headAt <= PART_HEAD_BYTES_MAX && textEnd !== -1;
    const part = isPart
      ? partOf(
          body.toString("utf8", headAt, headEnd),
          body.subarray(headEnd + 2 * LINE_END.length, textEnd),
        )
      : undefined;
    yield part;
    if (part === undefined) return;
    at = textEnd + LINE_END.length + delimiter.length;
  }
  yield undefined;
}

function partOf(head: string, bytes: Buffer): FormPart | undefined {
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(head)?.[1];
  const name = /(?:^|;)\s*name="([^"]{1,128})"/i.exec(disposition ?? "")?.[1];
  if (disposition === undefined || name === undefined || !isUtf8(bytes)) return undefined;
  return { name, isFile: /;\s*filename\*?=/i.test(disposition), text: bytes.toString("utf8") };
}

function notAForm(reason: string): Refused {
  return refuse(
    `the form body cannot be read: ${reason}; send one JSON object as application/json`,
  );
}

function refuse(message: string): Refused {
  return refused(invalidRequest(message));
}
