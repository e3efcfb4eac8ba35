import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import { errorCodes, type FastifyRequest } from "fastify";

import {
  asText,
  type ClientAddresses,
  Fault,
  HeldBytes,
  mayRole,
  type Need,
  normaliseEmail,
  roleNote,
  wideNetwork,
} from "../../kernel/index.ts";
import { clientNetwork } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { Identity } from "../identity/open-identity.ts";
import { ConsoleRefusal, forbidden, missing } from "./console-refusal.ts";
import { isLoopback } from "../identity/console-address.ts";

export const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Reads a body as bytes, up to `bytesMax` (default: the route's limit). It joins small chunks,
 * because even a chunk of one byte takes 200 bytes, and limits the memory of all unfinished bodies,
 * many of which have no session.
 */
export function bytesReader(
  { arriving, clientAddresses }: Pick<ConsoleDeps, "arriving" | "clientAddresses">,
  bytesMax?: number,
) {
  return (
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (fault: Error | null, body?: Buffer) => void,
  ): void => {
    const limit = bytesMax ?? request.routeOptions.bodyLimit;
    const owner = clientNetwork(findClientAddress(clientAddresses, request) ?? "");
    const held = new HeldBytes();
    const end = (fault: Error | null, whole?: Buffer): void => {
      arriving.ended(body);
      payload.off("data", add).off("end", finish).off("error", breakOff);
      done(fault, whole);
    };
    const body = { owner, bytes: 0, refuse: () => end(new BusyFault()) };
    const add = (chunk: Buffer): void => {
      held.add(chunk);
      if (held.length > limit) end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
      else arriving.grew(body, chunk.length);
    };
    const finish = (): void => end(null, held.joined());
    const breakOff = (): void => end(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
    if (Number(request.headers["content-length"]) > limit) {
      return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    }
    payload.on("data", add).on("end", finish).on("error", breakOff);
  };
}

export class BusyFault extends Fault {}

/** Newer browsers state this in `sec-fetch-site`; older browsers and programs send `origin`. */
export function isFromOwnPage(headers: IncomingHttpHeaders, consoleUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined
    ? headers.origin === new URL(consoleUrl).origin
    : site === "same-origin";
}

/** Refuses a change unless it comes from our own page and as JSON, which no HTML form can send. */
export function foreignOriginProblem(
  { method, headers }: Pick<FastifyRequest, "method" | "headers">,
  consoleUrl: string,
): ConsoleRefusal | undefined {
  if (SAFE_METHODS.has(method)) return undefined;
  if (!isFromOwnPage(headers, consoleUrl)) return FOREIGN;
  return JSON_TYPE.test(headers["content-type"] ?? "") ? undefined : NOT_JSON;
}

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

const FOREIGN = forbidden(
  "the request does not come from a page of this console; programs must send the console's URL as `origin`",
);

const NOT_JSON = new ConsoleRefusal(
  415,
  "invalid_request",
  "content-type must be application/json",
);

/** Names the organization that the page shows; another tab may have switched the session since. */
const SHOWN_ORG_HEADER = "x-tm-org";

/** A link cannot send `x-tm-org`, so `org` in its query replaces it. A sent header wins. */
export function takeLinkedOrg(of: Pick<FastifyRequest, "headers" | "query">): IncomingHttpHeaders {
  const { headers } = of;
  const asked = of.query as { org?: string };
  const { org } = asked;
  delete asked.org;
  return org === undefined ? headers : { [SHOWN_ORG_HEADER]: org, ...headers };
}

export function readQuery({ query }: FastifyRequest, name: string): unknown {
  return (query as Readonly<Record<string, unknown>>)[name];
}

/** Reads the browser's session; refuses if the member's role lacks the right `need`. */
export async function readOpenSession(
  identity: Pick<Identity, "readSession">,
  headers: IncomingHttpHeaders,
  need: Need,
): Promise<SignedIn | ConsoleRefusal> {
  const session = await identity.readSession(headers.cookie);
  if (session === undefined) return SIGNED_OUT;
  if (!session.isVerified) return NOT_VERIFIED;
  const shown = headers[SHOWN_ORG_HEADER];
  if (shown !== undefined && shown !== session.orgId) return OTHER_ORG;
  return mayRole(session.role, need) ? session : forbidden(roleNote(need, "do this", session.role));
}

export const OTHER_ORG: ConsoleRefusal = new ConsoleRefusal(
  409,
  "other_organization",
  "nothing was done: this page shows another organization than the one this browser is in now; reload the page",
);

const SIGNED_OUT = new ConsoleRefusal(
  401,
  "signed_out",
  "you are signed out; sign in and try again",
);

const NOT_VERIFIED = new ConsoleRefusal(
  403,
  "email_not_verified",
  "your email is not verified; open the link in your identity provider's verification email, then sign in again",
);

export function findClientAddress(
  addresses: ClientAddresses,
  { ip, headers }: Pick<FastifyRequest, "ip" | "headers">,
): string | undefined {
  const forwarded = headers["x-forwarded-for"];
  return addresses.of(ip, asText(forwarded));
}

/** Returns the request id and the client's network, as the change log records them. */
export function readOrigin(
  { clientAddresses }: { readonly clientAddresses: ClientAddresses },
  request: Pick<FastifyRequest, "id" | "ip" | "headers">,
): { readonly requestId: string; readonly clientNetwork: string | null } {
  const network = wideNetwork(findClientAddress(clientAddresses, request));
  return { requestId: request.id, clientNetwork: network };
}

/**
 * Returns where to redirect a browser that used another name of this machine, such as `localhost`
 * for `127.0.0.1`: a cookie that one name sets is not sent to the other. Undefined if the name is
 * right, if a host is not loopback, or if the ports differ, as behind a proxy.
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

/** An operator's change requires a sign-in that is at most this old. */
const FRESH_MS = 12 * 3_600_000;

/** True for an operator. Only an address that a provider or a sign-in link has verified counts. */
export function isOperator(
  { isVerified, email }: Pick<SignedIn, "isVerified" | "email">,
  operators: ReadonlySet<string>,
): boolean {
  return isVerified && operators.has(normaliseEmail(email));
}

/** Reads the session of an operator; everyone else gets the answer for an unknown path. */
export async function readOperatorSession(
  identity: Pick<Identity, "readSession">,
  cookieHeader: string | undefined,
  operators: ReadonlySet<string>,
): Promise<SignedIn | ConsoleRefusal> {
  if (operators.size === 0) return NO_SUCH_PATH;
  const session = await identity.readSession(cookieHeader);
  return session !== undefined && isOperator(session, operators) ? session : NO_SUCH_PATH;
}

export function staleSignInProblem(
  { startedAtMs }: Pick<SignedIn, "startedAtMs">,
  nowMs: number,
): ConsoleRefusal | undefined {
  return nowMs - startedAtMs <= FRESH_MS ? undefined : STALE;
}

/** The answer for an unknown path, and for a path that the caller may not see. */
export const NO_SUCH_PATH: ConsoleRefusal = missing(
  "there is no route at this path; GET /api/openapi.json lists the console's routes",
);

const STALE = forbidden(
  "nothing was changed: you signed in more than 12 hours ago; sign out, sign in again, and retry",
);
