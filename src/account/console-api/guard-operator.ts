import { normaliseEmail } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { Identity } from "../identity/open-identity.ts";
import { ConsoleRefusal } from "./console-refusal.ts";

/** An operator's change requires a sign-in that is at most this old. */
const FRESH_MS = 12 * 3_600_000;

/** True for an operator. Only an e-mail address that the identity provider has verified counts. */
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
export const NO_SUCH_PATH: ConsoleRefusal = new ConsoleRefusal(
  404,
  "not_found",
  "there is no route at this path; GET /api/openapi.json lists the console's routes",
);

const STALE = new ConsoleRefusal(
  403,
  "forbidden",
  "nothing was changed: you signed in more than 12 hours ago; sign out, sign in again, and retry",
);
