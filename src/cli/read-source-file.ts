import { createReadStream, existsSync, statSync } from "node:fs";
import { basename } from "node:path";

import { cutText, defined, type RawJson, readRawJson, toReason } from "../kernel/index.ts";
import {
  isListingSource,
  LISTING_SOURCES,
  type ListingSource,
  type SourceInput,
} from "../listing-tools/index.ts";
import { clock, UsageFault } from "./command-context.ts";

const SOURCE_BYTES_MAX = 16 * 1_048_576;
/** More than three times the number of values in the largest known price list. */
const SOURCE_VALUES_MAX = 1_500_000;
const FETCH_TIMEOUT_MS = 60_000;
const REDIRECTS_MAX = 3;
const HEADERS = { accept: "application/json", "user-agent": "tokenmarket" };
/** No price list is older, so an earlier date that a server reports is wrong. */
const FIRST_DAY = "2023-01-01";

export type SourceFile = Omit<SourceInput, "from">;

export function splitSource(named: string, flag: string): readonly [ListingSource, string] {
  const at = named.indexOf("=");
  const from = named.slice(0, Math.max(at, 0));
  if (isListingSource(from)) return [from, named.slice(at + 1)];
  const known = LISTING_SOURCES.join(", ");
  throw new UsageFault(`${flag} must be SOURCE=FILE with one of ${known}, not ${named}`);
}

/**
 * Reads a file or an https address of at most 16 MiB; follows no redirect to another host. The
 * file's day is the caller's, else the one in its name, else the server's, else today.
 */
export async function readSourceFile(
  named: string,
  dated: string | undefined,
  stopped?: AbortSignal,
): Promise<SourceFile> {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(named);
  const { bytes, modified } = isUrl ? await download(named, stopped) : await readFile(named);
  const name = basename(isUrl ? new URL(named).pathname : named);
  const inName = /\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])/.exec(name)?.[0];
  const today = new Date(clock.nowMs()).toISOString().slice(0, 10);
  // Days outside this range are ignored: some servers always report 1970 or 1985, and a future day
  // would make later price lists look older.
  const known = [inName, modified].find((day = "") => FIRST_DAY <= day && day <= today);
  return { bytes, document: parse(named, bytes), dated: dated ?? known ?? today };
}

interface Content {
  readonly bytes: Uint8Array;
  readonly modified?: string;
}

async function readFile(path: string): Promise<Content> {
  if (!existsSync(path) || statSync(path).isDirectory()) {
    throw new UsageFault(`${path}: there is no such file; give a file or an https address`);
  }
  return { bytes: await readAll(path, createReadStream(path) as AsyncIterable<Uint8Array>) };
}

async function download(named: string, stopped?: AbortSignal): Promise<Content> {
  if (!URL.canParse(named)) throw new UsageFault(`${named}: is not an address`);
  const first = new URL(named);
  if (first.username !== "" || first.password !== "") {
    throw new UsageFault(`${first.host}: an address with a name or password is not read`);
  }
  const late = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  const signal = stopped === undefined ? late : AbortSignal.any([late, stopped]);
  let url = first;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    if (url.protocol !== "https:") {
      throw new UsageFault(`${url.origin}: only https addresses are read; save the file instead`);
    }
    if (url.host !== first.host) {
      throw new UsageFault(`${first.host} redirects to ${url.host}; name that address to trust it`);
    }
    const answer = await readable(
      url,
      fetch(url, { signal, redirect: "manual", headers: HEADERS }),
    );
    const target = answer.headers.get("location");
    if (answer.status >= 300 && answer.status < 400 && target !== null) {
      await answer.body?.cancel();
      if (!URL.canParse(target, url.href))
        throw new UsageFault(`${url.href}: redirects to no address`);
      url = new URL(target, url.href);
      continue;
    }
    if (!answer.ok) throw new UsageFault(`${url.href}: answers with status ${answer.status}`);
    if (answer.body === null) throw new UsageFault(`${url.href}: answers with nothing`);
    const modified = parseDay(answer.headers.get("last-modified"));
    const body = answer.body as AsyncIterable<Uint8Array>;
    return { bytes: await readable(url, readAll(url.href, body)), ...defined({ modified }) };
  }
  throw new UsageFault(`${named}: redirects more than ${REDIRECTS_MAX} times`);
}

async function readable<T>(url: URL, reading: Promise<T>): Promise<T> {
  return await reading.catch((error: unknown) => {
    if (error instanceof UsageFault) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new UsageFault(`${url.href}: cannot be read: ${toReason(cause)}`);
  });
}

async function readAll(name: string, parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    bytes += part.length;
    if (bytes > SOURCE_BYTES_MAX) throw new UsageFault(`${name}: is over 16 MiB`);
    kept.push(part);
  }
  return Buffer.concat(kept);
}

function parseDay(header: string | null): string | undefined {
  const instant = new Date(header ?? "");
  return Number.isNaN(instant.valueOf()) ? undefined : instant.toISOString().slice(0, 10);
}

function parse(name: string, bytes: Uint8Array): RawJson {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageFault(`${name}: is not UTF-8 text`);
  }
  const reading = readRawJson(text, SOURCE_VALUES_MAX);
  if (!reading.ok) {
    const { line, column, expected } = reading.flaw;
    throw new UsageFault(
      `${name}: is not JSON at line ${line}, column ${column}: expected ${expected}`,
    );
  }
  const [twice] = reading.duplicateKeys;
  if (twice !== undefined) {
    throw new UsageFault(
      `${name}: has the key ${cutText(twice)} twice; parsers disagree on which counts`,
    );
  }
  return reading.value;
}
