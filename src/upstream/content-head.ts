type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The head of a file as it is passed on. */
export interface ContentHead {
  readonly status: 200 | 206 | 416;
  /** Names in lower case; nothing but what speaks of the file. */
  readonly contentHeaders: Readonly<Record<string, string>>;
}

/** What a provider says of a file; `unusableReason`: its answer is none, and not by its status. */
export type ReadHead =
  | { readonly ok: true; readonly head: ContentHead }
  | { readonly ok: false; readonly unusableReason?: string };

export function readContentHead(
  status: number,
  headers: Headers,
  wanted: { readonly isPart: boolean; readonly bytesMax: number },
): ReadHead {
  if (status !== 200 && status !== 206 && status !== 416) {
    return status < 300 ? unusable(`status ${status}`) : { ok: false };
  }
  if (status !== 200 && !wanted.isPart) return unusable("a part that was not requested");
  if (status === 416) {
    const contentHeaders = { ...rangeOf(headers), ...EMPTY_BODY };
    return { ok: true, head: { status, contentHeaders } };
  }
  const encoding = cleanValue(headers, "content-encoding") ?? "identity";
  if (encoding !== "identity") return unusable(`encoding ${encoding}`);
  const type = cleanValue(headers, "content-type") ?? "";
  if (!mayBeVideo(type)) return unusable(`content type ${type}`);
  const length = cleanValue(headers, "content-length");
  if (length !== undefined && Number(length) > wanted.bytesMax) {
    return unusable(`${length} bytes`);
  }
  if (status === 206 && cleanValue(headers, "content-range") === undefined) {
    return unusable("a part that does not say which");
  }
  const contentHeaders = {
    ...passedOf(headers),
    ...(status === 206 && rangeOf(headers)),
    "content-type": isVideo(type) ? type : "application/octet-stream",
  };
  return { ok: true, head: { status, contentHeaders } };
}

function unusable(unusableReason: string): ReadHead {
  return { ok: false, unusableReason };
}

/** Where the answer is instead; undefined: it is here. */
export function redirectTarget(status: number, headers: Headers, from: URL): URL | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const location = cleanValue(headers, "location");
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from.href);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const PASSED = ["content-length", "accept-ranges", "etag", "last-modified"] as const;
const EMPTY_BODY = { "content-length": "0" };

function passedOf(headers: Headers): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of PASSED) {
    const value = cleanValue(headers, name);
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

function rangeOf(headers: Headers): Record<string, string> {
  const range = cleanValue(headers, "content-range");
  return range === undefined ? {} : { "content-range": range };
}

function isVideo(type: string): boolean {
  return /^video\/[\w.+-]+\s*(;|$)/i.test(type);
}

/** A page or a document under a 200 is an error in disguise, or a link to something else. */
function mayBeVideo(type: string): boolean {
  return !/^\s*(text\/|application\/(json|xml|xhtml|problem)|multipart\/)/i.test(type);
}

/** The first value, when it can stand in an answer of ours as it is. */
function cleanValue(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  const first = (Array.isArray(value) ? value[0] : value)?.trim();
  return first !== undefined && /^[\x20-\x7e]+$/.test(first) ? first : undefined;
}
