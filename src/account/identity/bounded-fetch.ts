import type { CustomFetch } from "openid-client";

const ANSWER_BYTES_MAX = 1_048_576;

/**
 * Fetch for talking to the identity provider: an answer longer than 1 MiB is a fault, however long
 * it says that it is. Time limits come in with the call's signal.
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  const answer = await fetch(url, {
    method: options.method,
    headers: options.headers,
    redirect: "manual",
    body: options.body ?? null,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const body = answer.body === null ? null : await readAll(answer.body);
  const { status, statusText } = answer;
  const headers = new Headers(answer.headers);
  // The body is decoded by now.
  headers.delete("content-encoding");
  headers.delete("content-length");
  return new Response(isBodiless(status) ? null : body, { status, statusText, headers });
};

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error("the identity provider's answer is too long");
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** A `Response` of these takes no body, not even an empty one. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
