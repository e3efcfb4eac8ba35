import { isLoopback } from "../identity/console-address.ts";

/**
 * Where a browser goes that came by another name of this machine, `localhost` for `127.0.0.1`:
 * cookies are of one host, so it would never find its session. Undefined: it is at the right
 * one, or behind a proxy, whose business that is.
 */
export function otherName(asked: {
  readonly host: string | undefined;
  readonly url: string;
  readonly consoleUrl: string;
}): string | undefined {
  const { host, url, consoleUrl } = asked;
  if (host === undefined || !URL.canParse(`http://${host}`)) return undefined;
  const [came, own] = [new URL(`http://${host}`), new URL(consoleUrl)];
  const isOther = came.hostname !== own.hostname && came.port === own.port;
  if (!isOther || !isLoopback(came.hostname) || !isLoopback(own.hostname)) return undefined;
  return own.origin + url;
}
