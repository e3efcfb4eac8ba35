import { isLoopback } from "../identity/console-address.ts";

/**
 * The console's address for a browser that used another name of this machine, such as `localhost`
 * for `127.0.0.1`: cookies belong to one host name, so its session would never be found. Undefined
 * if the name is right, if a host is not loopback, or if the ports differ, as behind a proxy.
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
