import { newVirtualKey } from "../../gateway/index.ts";
import { TRIAL_KEY_REQUESTS_PER_MINUTE } from "../../kernel/index.ts";
import type { BrowserToken } from "./browser-token.ts";
import type { SealedReveal, SignInToResolve } from "./identity-store.ts";
import { deriveKey, openText, sealText } from "./sealed-text.ts";

const REVEAL_MS = 15 * 60_000;
const TRIAL_KEY_NAME = "Trial key";
const PURPOSE = "key shown once";

/** A trial key in case that one is due: it cannot be read without the session's token. */
export function newTrialKey(session: BrowserToken, nowMs: number): SignInToResolve["trialKey"] {
  const { raw, digest, label } = newVirtualKey();
  return {
    digest,
    label,
    name: TRIAL_KEY_NAME,
    ceiling: TRIAL_KEY_REQUESTS_PER_MINUTE,
    sealedKey: sealText(raw, deriveKey(session.token, PURPOSE), session.hash),
    expiresAtMs: nowMs + REVEAL_MS,
  };
}

/** The key again, with the token of the session that it was sealed for. */
export function openReveal(reveal: SealedReveal, session: BrowserToken): string | undefined {
  return openText(reveal.sealedKey, deriveKey(session.token, PURPOSE), session.hash);
}

/** The same for the session that follows: a key that was not revealed is not lost. */
export function moveReveal(
  reveal: SealedReveal,
  move: { readonly from: BrowserToken; readonly to: BrowserToken },
): SealedReveal | undefined {
  const raw = openReveal(reveal, move.from);
  if (raw === undefined) return undefined;
  const { to } = move;
  return { ...reveal, sealedKey: sealText(raw, deriveKey(to.token, PURPOSE), to.hash) };
}
