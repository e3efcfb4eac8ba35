import { isEmail, normaliseEmail } from "../../kernel/index.ts";

export interface EmailClaim {
  readonly email: string;
  readonly emailNorm: string;
  readonly isVerified: boolean;
}

export interface EmailRules {
  /** Every address of this provider counts as verified. */
  readonly isTrusted: boolean;
  /** The text `"true"` is taken for true. */
  readonly verifiedAsText: boolean;
}

type Claims = Readonly<Record<string, unknown>>;

/** The address that a provider says a person has; undefined: it names none. */
export function readEmailClaim(claims: Claims, rules: EmailRules): EmailClaim | undefined {
  const { email, email_verified: verified } = claims;
  if (typeof email !== "string" || !isEmail(email.trim())) return undefined;
  const isVerified =
    rules.isTrusted || verified === true || (rules.verifiedAsText && verified === "true");
  return { email: email.trim(), emailNorm: normaliseEmail(email), isVerified };
}

/** Must the provider be asked once more, because the token says too little about the address? */
export function lacksEmailClaim(claims: Claims, rules: EmailRules): boolean {
  if (typeof claims["email"] !== "string") return true;
  return claims["email_verified"] === undefined && !rules.isTrusted;
}
