import { type FindAddresses, isPrivateHost, resolvesToPrivate } from "../../upstream/index.ts";

const URL_CHARS_MAX = 2_000;
/** Below it are ports of services that a request in HTTP could confuse. */
const UNPRIVILEGED_PORT_MIN = 1_024;

/**
 * What is wrong with the address of a webhook, in a sentence; undefined: nothing. `allowPrivate`:
 * development, where receivers run on the same machine.
 */
export function webhookAddressProblem(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > URL_CHARS_MAX) return `it is longer than ${URL_CHARS_MAX} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) {
    return "it has a space or a character that is not ASCII; write those percent-encoded";
  }
  if (!URL.canParse(text)) return "it is not a URL, such as https://example.com/webhooks";
  const { protocol, username, password, hash, port, hostname } = new URL(text);
  if (protocol !== "https:" && !(protocol === "http:" && allowPrivate)) {
    return "it must begin with https://";
  }
  if (username !== "" || password !== "") {
    return "it has a user name or password; the signature shows who sent a webhook";
  }
  if (hash !== "") return "it has a fragment (#), which is never sent; remove it";
  if (allowPrivate) return undefined;
  if (port !== "" && Number(port) < UNPRIVILEGED_PORT_MIN) {
    return `port ${port} is not allowed; use 443 or a port from ${UNPRIVILEGED_PORT_MIN} on`;
  }
  return isPrivateHost(hostname) ? PRIVATE : undefined;
}

/**
 * The same, and whether its name has a private address now; every delivery checks that again.
 * `busy`: the organization has too many names under way.
 */
export async function checkWebhookAddress(
  text: string,
  { allowPrivate, find }: { readonly allowPrivate: boolean; readonly find: FindAddresses },
): Promise<{ readonly problem: string } | "busy" | undefined> {
  const problem = webhookAddressProblem(text, allowPrivate);
  if (problem !== undefined) return { problem };
  if (allowPrivate) return undefined;
  const isPrivate = await resolvesToPrivate(new URL(text).hostname, find);
  if (isPrivate === "busy") return "busy";
  return isPrivate ? { problem: PRIVATE } : undefined;
}

const PRIVATE = "it is the address of a private network or of this machine; use a public one";
