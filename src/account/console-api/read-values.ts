import {
  assert,
  CAP_FIELDS,
  CAP_PERIODS,
  type CapField,
  type Caps,
  type MicroUsd,
  parseUsd,
} from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { OrgSummary } from "../../gateway/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { ConsoleDeps } from "./console-deps.ts";

/** Reads a cap. Returns undefined if the cap stays, null if it is removed. */
export function readCap(text: string | null | undefined): MicroUsd | null | undefined {
  if (text === undefined || text === null || text === "") return undefined;
  const amount = readAmount(text);
  return amount === 0n ? null : amount;
}

export function readCaps(body: {
  readonly [F in CapField]?: string | null | undefined;
}): Partial<Caps> {
  return Object.fromEntries(
    CAP_PERIODS.flatMap((period) => {
      const cap = readCap(body[CAP_FIELDS[period]]);
      return cap === undefined ? [] : [[period, cap]];
    }),
  );
}

/** Parses an amount that the contract's schema has already accepted. */
export function readAmount(text: string): MicroUsd {
  const amount = parseUsd(text);
  assert(amount !== undefined && amount >= 0n, "an amount was checked before it is read");
  return amount;
}

/** Trims a name whose characters the contract's schema has already checked. */
export function readName(text: string): string | ConsoleRefusal {
  const name = text.trim();
  return name === "" ? invalidField("name", "name must not be blank") : name;
}

/** The books give such references to their own transfers, which a typed one would block for ever. */
const RESERVED_REF =
  /^(?:collect|dispute|dispute-won|lost|period|purchase|refund|refund-reversal):/;

/** Trims the reference of a transfer that a person enters. */
export function readRef(text: string): string | ConsoleRefusal {
  const ref = text.trim();
  if (ref === "") return invalidField("ref", "ref must not be blank");
  const reserved = RESERVED_REF.exec(ref)?.[0];
  if (reserved === undefined) return ref;
  const said = `ref must not begin with ${reserved} because the books name their own entries so`;
  return invalidField("ref", `${said}; use another, for a purchase its ID alone`);
}

export async function requireOrg(
  { accounts }: Pick<ConsoleDeps, "accounts">,
  { orgId }: Pick<SignedIn, "orgId">,
): Promise<OrgSummary> {
  const org = await accounts.findOrg(orgId);
  assert(org !== undefined, "a session belongs to an organization that exists");
  return org;
}
