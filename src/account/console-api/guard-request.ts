import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import { errorCodes, type FastifyRequest } from "fastify";

import {
  mayRole,
  type Need,
  type Role,
  roleNote,
  wideNetwork,
  type ClientAddresses,
  asText,
  HeldBytes,
} from "../../kernel/index.ts";
import { clientNetwork } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { Identity } from "../identity/open-identity.ts";
import { ConsoleRefusal } from "./console-refusal.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Returns a parser that reads a body as bytes, up to `bytesMax` (default: the route's limit).
 * Unlike the framework's parsers, it keeps no single chunks, because a chunk of one byte would take
 * 200, and it bounds the memory of all bodies that have begun: many are read without a session.
 */
export function bytesReader(
  { arriving, clientAddresses }: Pick<ConsoleDeps, "arriving" | "clientAddresses">,
  bytesMax?: number,
): BytesReader {
  return (request, payload, done) => {
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

type BytesReader = (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (fault: Error | null, body?: Buffer) => void,
) => void;

/** The bodies that have begun and not ended take too much memory. */
export class BusyFault extends Error {
  override readonly name = "BusyFault";
}

export interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * True if the request comes from a page of the console. Browsers report that in `sec-fetch-site`;
 * older browsers and programs send `origin`.
 */
export function isFromOwnPage(headers: IncomingHttpHeaders, consoleUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined
    ? headers.origin === new URL(consoleUrl).origin
    : site === "same-origin";
}

/** Refuses a change unless it comes from our own page and as JSON, which no HTML form can send. */
export function foreignOriginProblem(
  { method, headers }: GuardedRequest,
  consoleUrl: string,
): ConsoleRefusal | undefined {
  if (SAFE_METHODS.has(method)) return undefined;
  if (!isFromOwnPage(headers, consoleUrl)) return FOREIGN;
  return JSON_TYPE.test(headers["content-type"] ?? "") ? undefined : NOT_JSON;
}

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

const FOREIGN = new ConsoleRefusal(
  403,
  "forbidden",
  "the request does not come from a page of this console; programs must send the console's URL as `origin`",
);

const NOT_JSON = new ConsoleRefusal(
  415,
  "invalid_request",
  "content-type must be application/json",
);

/** Names the organization that the page shows; another tab may have switched the session since. */
const SHOWN_ORG_HEADER = "x-tm-org";

/** Reads the browser's session if its role has the right `need`. No other code compares roles. */
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
  return mayRole(session.role, need) ? session : roleRefusal(session.role, need);
}

function roleRefusal(role: Role, need: Need): ConsoleRefusal {
  return new ConsoleRefusal(403, "forbidden", roleNote(need, "do this", role));
}

const OTHER_ORG = new ConsoleRefusal(
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

/** The client's address; behind trusted proxies, the one that they report. */
export function findClientAddress(
  addresses: ClientAddresses,
  { ip, headers }: Pick<FastifyRequest, "ip" | "headers">,
): string | undefined {
  const forwarded = headers["x-forwarded-for"];
  return addresses.of(ip, asText(forwarded));
}

/** The request id and the client's network for the change log, when a session begins or ends. */
export function readOrigin(
  { clientAddresses }: { readonly clientAddresses: ClientAddresses },
  request: Pick<FastifyRequest, "id" | "ip" | "headers">,
): { readonly requestId: string; readonly clientNetwork: string | null } {
  const network = wideNetwork(findClientAddress(clientAddresses, request));
  return { requestId: request.id, clientNetwork: network };
}
