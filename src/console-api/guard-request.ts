import type { IncomingHttpHeaders } from "node:http";

import type { Identity, SignedIn } from "../identity/index.ts";
import { ConsoleRefusal } from "./console-refusal.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

export interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Does a request that may change something come from a page of the console? Browsers say so in
 * `sec-fetch-site`, older ones and programs in `origin`; and no form of another site can send JSON.
 */
export function foreignOriginProblem(
  { method, headers }: GuardedRequest,
  consoleUrl: string,
): ConsoleRefusal | undefined {
  if (SAFE_METHODS.has(method)) return undefined;
  const site = headers["sec-fetch-site"];
  const isOwn =
    site === undefined ? headers.origin === new URL(consoleUrl).origin : site === "same-origin";
  if (!isOwn) return FOREIGN;
  return JSON_TYPE.test(headers["content-type"] ?? "") ? undefined : NOT_JSON;
}

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

const FOREIGN = new ConsoleRefusal({
  status: 403,
  code: "forbidden",
  message:
    "the request does not come from a page of this console; programs must send the console's URL as `origin`",
});

const NOT_JSON = new ConsoleRefusal({
  status: 415,
  code: "invalid_request",
  message: "content-type must be application/json",
});

/** The browser's session, if it opens what is asked for: `unverified` takes any that is signed in. */
export async function readOpenSession(
  identity: Pick<Identity, "readSession">,
  cookieHeader: string | undefined,
  access: "unverified" | "session",
): Promise<SignedIn | ConsoleRefusal> {
  const session = await identity.readSession(cookieHeader);
  if (session === undefined) return SIGNED_OUT;
  return access === "session" && !session.isVerified ? NOT_VERIFIED : session;
}

const SIGNED_OUT = new ConsoleRefusal({
  status: 401,
  code: "signed_out",
  message: "you are signed out; sign in and try again",
});

const NOT_VERIFIED = new ConsoleRefusal({
  status: 403,
  code: "email_not_verified",
  message:
    "your email is not verified; open the link in your identity provider's verification email, then sign in again",
});
