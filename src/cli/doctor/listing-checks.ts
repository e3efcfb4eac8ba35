import { join } from "node:path";

import {
  listingKey,
  stateOf,
  VERIFIED_FOR_MS,
  type VerificationState,
} from "../../gateway/index.ts";
import { clock } from "../command-context.ts";
import { type WatchedListing, watchedListings } from "../watched-listings.ts";
import { type DatabaseCheckGroup, type DoctorCheck, type Examined, named } from "./doctor-check.ts";

/** Soon enough to act on. */
const EXPIRES_WITHIN_MS = 7 * 86_400_000;
const WATCH = "run `tokenmarket conformance watch --once`, or leave a watch running";

/** How far the routed listings are verified by conformance runs. */
export const listingChecks: DatabaseCheckGroup = async (examined, backend) => {
  const found = watchedListings(examined.env, examined.config);
  if (!found.ok || found.listings.length === 0) return [];
  const { verdictStore } = backend;
  const [verdicts, suspects] = await Promise.all([verdictStore.latest(), verdictStore.suspects()]);
  const verdictOf = new Map(verdicts.map((each) => [listingKey(each), each]));
  const suspected = new Set(suspects.map(listingKey));
  const known = found.listings.map((listing): KnownListing => {
    const verdict = verdictOf.get(listingKey(listing));
    const state = stateOf(verdict, listing, clock.nowMs());
    const expiresMs = (verdict?.checkedAtMs ?? 0) + VERIFIED_FOR_MS;
    return { listing, state, expiresMs, isSuspect: suspected.has(listingKey(listing)) };
  });
  const warnings = STATES.flatMap((state): DoctorCheck[] => {
    const listings = known.filter(state.isOf);
    return listings.length === 0
      ? []
      : [
          warningOf(
            state,
            listings.map(({ listing }) => listing),
            examined,
          ),
        ];
  });
  if (warnings.length > 0) return warnings;
  const detail = `all ${found.listings.length} are verified`;
  return [{ id: "listings", level: "ok", detail }];
};

interface KnownListing {
  readonly listing: WatchedListing;
  readonly state: VerificationState;
  /** Of a verified one. */
  readonly expiresMs: number;
  readonly isSuspect: boolean;
}

/** A state of listings that an operator should know of. */
interface ListingState {
  readonly id: string;
  readonly isOf: (known: KnownListing) => boolean;
  /** Does a watch check them by itself? Others are run by name. */
  readonly isDue: boolean;
}

const STATES: readonly ListingState[] = [
  { id: "listings never checked", isOf: ({ state }) => state === "unchecked", isDue: true },
  { id: "listings that failed", isOf: ({ state }) => state === "failed", isDue: false },
  { id: "listings suspect", isOf: ({ isSuspect }) => isSuspect, isDue: false },
  { id: "listings changed since their run", isOf: ({ state }) => state === "changed", isDue: true },
  { id: "listings expired", isOf: ({ state }) => state === "expired", isDue: true },
  { id: "listings that expire within 7 days", isOf: expiresSoon, isDue: true },
];

function expiresSoon({ state, expiresMs }: KnownListing): boolean {
  return state === "verified" && expiresMs - clock.nowMs() <= EXPIRES_WITHIN_MS;
}

function warningOf(
  { id, isDue }: ListingState,
  listings: readonly WatchedListing[],
  { config }: Examined,
): DoctorCheck {
  const names = named(listings.map(({ providerId, modelId }) => `${providerId}/${modelId}`));
  const [first] = listings;
  const file = join(config.manifestsDir, first?.file ?? "");
  const run = `run \`tokenmarket conformance run ${file} --models ${first?.modelId} --record\``;
  const unrouted = config.requireVerified ? " (not routed while require_verified is set)" : "";
  const isRouted = id === "listings suspect" || id === "listings that expire within 7 days";
  return {
    id,
    level: "warning",
    detail: `${names}${isRouted ? "" : unrouted}; ${isDue ? WATCH : `${run} for what is wrong`}`,
  };
}
