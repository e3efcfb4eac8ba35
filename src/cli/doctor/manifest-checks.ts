import { join } from "node:path";

import { type Catalog, CHECK_DAYS_MAX, isBelowCost, staleListings } from "../../catalog/index.ts";
import {
  type CheckGroup,
  type DoctorCheck,
  type Examined,
  listNames,
  type DatabaseCheckGroup,
} from "./doctor-check.ts";
import {
  isPassed,
  listingKey,
  judgeVerdict,
  VERIFIED_FOR_MS,
  type VerificationState,
} from "../../gateway/index.ts";
import { clock } from "../command-context.ts";
import { type WatchedListing, watchedListings } from "../watched-run.ts";
import { PRIVATE_NOTE, renderIssue } from "../../app/index.ts";

export const manifestChecks: CheckGroup = ({ config, loaded }) => {
  const id = "manifests";
  if (!loaded.ok) {
    return [{ id, level: "problem", detail: loaded.issues.map(renderIssue).join("; ") }];
  }
  const { catalog, leftOut } = loaded;
  const left = leftOut.map((file) => `${file} is left out: ${PRIVATE_NOTE}`);
  const found = `${catalog.models.length} models in ${config.manifestsDir}`;
  const level = left.length === 0 ? "ok" : "warning";
  return [
    { id, level, detail: [found, ...left].join("; ") },
    keyCheck(catalog),
    ...stagedChecks(catalog),
    ...priceChecks(catalog),
    ...costChecks(catalog),
  ];
};

function keyCheck({ deployments }: Catalog): DoctorCheck {
  const withoutKey = deployments.filter(
    ({ notReady }) => notReady === "key_missing" || notReady === "key_elsewhere",
  );
  const level = withoutKey.length === 0 ? "ok" : "warning";
  const variables = new Set(withoutKey.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []));
  const detail =
    level === "ok"
      ? "every provider has its key"
      : `${withoutKey.length} listings are not routed: put the keys of their providers into ${listNames([...variables])}; ` +
        "`tokenmarket catalog build` names each";
  return { id: "provider keys", level, detail };
}

/** Warns about providers whose listings are all staged: even with a key they serve no request. */
function stagedChecks({ deployments }: Catalog): readonly DoctorCheck[] {
  const staged = new Set(deployments.map(({ providerId }) => providerId));
  for (const { providerId, notReady } of deployments) {
    if (notReady !== "staged") staged.delete(providerId);
  }
  if (staged.size === 0) return [];
  const detail = `nothing of ${listNames([...staged])} is ready; \`tokenmarket catalog build\` says why each listing is staged`;
  return [{ id: "staged providers", level: "warning", detail }];
}

/** Reports nothing if no manifest states when its prices were checked. */
function priceChecks(catalog: Catalog): readonly DoctorCheck[] {
  const routed = catalog.models.flatMap(({ deployments }) => deployments);
  const checked = routed.filter((each) => each.checked !== undefined).length;
  if (checked === 0) return [];
  const id = "price checks";
  const stale = staleListings(catalog);
  if (stale.length === 0) {
    const detail = `those of ${checked} listings are not older than ${CHECK_DAYS_MAX} days`;
    return [{ id, level: "ok", detail }];
  }
  const names = listNames(stale.map(({ deployment, on }) => `${deployment.id} (${on})`));
  const next = "compare them with `tokenmarket manifest refresh`";
  const detail = `checked over ${CHECK_DAYS_MAX} days ago: ${names}; ${next}`;
  return [{ id, level: "warning", detail }];
}

/** Names listings that lose money per token. `databaseChecks` reports the amount lost so far. */
function costChecks({ deployments }: Catalog): readonly DoctorCheck[] {
  const below = deployments.filter(isBelowCost);
  if (below.length === 0) return [];
  const detail = `sold for less than their providers are owed: ${listNames(below.map(({ id }) => id))}; raise their pricing`;
  return [{ id: "prices below cost", level: "warning", detail }];
}

/** A verdict that expires within this time is a warning, early enough for a new run. */
const EXPIRES_WITHIN_MS = 7 * 86_400_000;
const WATCH = "run `tokenmarket conformance watch --once`, or leave a watch running";

/** Warns, by reason, about watched listings that are unverified, suspect or soon to expire. */
export const listingChecks: DatabaseCheckGroup = async (examined, backend) => {
  const found = watchedListings(examined.env, examined.config);
  if (!found.ok || found.listings.length === 0) return [];
  const { verdictStore } = backend;
  const [verdicts, suspects] = await Promise.all([verdictStore.latest(), verdictStore.suspects()]);
  const verdictOf = new Map(verdicts.map((each) => [listingKey(each), each]));
  const suspected = new Set(suspects.map(listingKey));
  const known = found.listings.map((listing): KnownListing => {
    const verdict = verdictOf.get(listingKey(listing));
    const state = judgeVerdict(verdict, listing, clock.nowMs());
    const expiresMs = (verdict?.checkedAtMs ?? 0) + VERIFIED_FOR_MS;
    return { listing, state, expiresMs, isSuspect: suspected.has(listingKey(listing)) };
  });
  const warnings = STATES.flatMap((state): DoctorCheck[] => {
    const listings = known.filter(state.isOf);
    const named = listings.map(({ listing }) => listing);
    return named.length === 0 ? [] : [toWarning(state, named, examined)];
  });
  if (warnings.length > 0) return warnings;
  const detail = `all ${found.listings.length} are verified`;
  return [{ id: "listings", level: "ok", detail }];
};

interface KnownListing {
  readonly listing: WatchedListing;
  readonly state: VerificationState;
  /** The instant when the verdict expires; meaningless if there is no verdict. */
  readonly expiresMs: number;
  readonly isSuspect: boolean;
}

interface ListingState {
  readonly id: string;
  readonly isOf: (known: KnownListing) => boolean;
  /** True: advises a watch. False: advises a run of the first listing, which shows the fault. */
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
  return isPassed(state) && expiresMs - clock.nowMs() <= EXPIRES_WITHIN_MS;
}

function toWarning(
  { id, isDue }: ListingState,
  listings: readonly WatchedListing[],
  { config }: Examined,
): DoctorCheck {
  const names = listNames(listings.map(({ providerId, modelId }) => `${providerId}/${modelId}`));
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
