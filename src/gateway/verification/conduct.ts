import { assert } from "../../kernel/index.ts";

/** One provider's listing of one model, by the ids in the provider's manifest. */
export interface ListingName {
  readonly providerId: string;
  readonly modelId: string;
}

/** Returns the key of a listing in maps, which is also the id of its deployment. */
export function listingKey({ providerId, modelId }: ListingName): string {
  return `${providerId}/${modelId}`;
}

export interface ConductPolicy {
  /** If more than this percentage of a listing's answers break a promise, it is suspect. */
  readonly badPercent: number;
  /** With fewer answers than this, `badPercent` does not apply. */
  readonly answersMin: number;
}

/** The promises that an answer can break: bits, because an answer can break several. */
export const BREACH = {
  substituted: 1,
  usageMissing: 2,
  /** Impossible or contradictory usage. */
  usageImpossible: 4,
  boundExceeded: 8,
  wrongFinish: 16,
  unreadable: 32,
} as const;

type BreachName = keyof typeof BREACH;
const NAMES = Object.keys(BREACH) as BreachName[];

function byBreach(read: (name: BreachName) => number): Record<BreachName, number> {
  return Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Record<BreachName, number>;
}

/** `answers` is the number of live answers; every other field counts those that broke a promise. */
export type LiveBreaches = Readonly<Record<"answers" | BreachName, number>>;

/** A sum of `BREACH` values; 0 if the answer kept all promises of its listing. */
export type Breaches = number;

export interface WatchedListing extends ListingName {
  /** `<provider id>/<model id>`, unique in a catalog. */
  readonly id: string;
  readonly manifestSha256: string;
  readonly modality?: string;
}

/** A listing with this many images or videos that could not be charged is suspect at any share. */
const GIVEN_MEDIA_MAX = 10;
const MEDIA: ReadonlySet<string | undefined> = new Set(["image", "video"]);

/** After this many answers the older half is dropped, so that recent answers judge a listing. */
const HALF_WINDOW_ANSWERS = 1_000;

interface Share {
  answers: number;
  bad: number;
  /** The number of bad answers that reported no usage. */
  given: number;
}

class Half implements Share {
  answers = 0;
  bad = 0;
  given = 0;
  readonly byOrg = new Map<string, Share>();
  readonly breaches = byBreach(() => 0);
}

type OnSuspect = (listing: WatchedListing, breaches: LiveBreaches, putBack: () => void) => void;

interface Watched {
  /** The manifest whose answers are counted; under another manifest the counts start again. */
  readonly manifestSha256: string;
  older: Half;
  newer: Half;
}

/**
 * Counts how many of a listing's last 1,000 to 2,000 answers broke a promise. Only counts: sends
 * and refuses no request. The counts of a listing that becomes suspect start again at zero, unless
 * they are put back because that could not be stored: the next bad answer then tries it again.
 */
export class Conduct {
  readonly #policy: ConductPolicy;
  readonly #onSuspect: OnSuspect;
  readonly #watched = new Map<string, Watched>();

  constructor(policy: ConductPolicy, onSuspect: OnSuspect) {
    assert(policy.answersMin <= HALF_WINDOW_ANSWERS, "a window has as many answers as are needed");
    this.#policy = policy;
    this.#onSuspect = onSuspect;
  }

  note(listing: WatchedListing, orgId: string, breaches: Breaches): void {
    const watched = this.#watch(listing);
    const { newer } = watched;
    const org = newer.byOrg.get(orgId) ?? { ...NOTHING };
    if (org.answers === 0) newer.byOrg.set(orgId, org);
    count(newer, breaches);
    count(org, breaches);
    if (breaches !== 0) {
      for (const name of NAMES) {
        if ((breaches & BREACH[name]) !== 0) newer.breaches[name] += 1;
      }
      this.#judge(listing, watched);
    }
    if (newer.answers >= HALF_WINDOW_ANSWERS) {
      watched.older = newer;
      watched.newer = new Half();
    }
  }

  /** Drops the counts of a listing. Call this when the listing has passed a conformance run. */
  forget(listingId: string): void {
    this.#watched.delete(listingId);
  }

  #watch({ id, manifestSha256 }: WatchedListing): Watched {
    const known = this.#watched.get(id);
    if (known?.manifestSha256 === manifestSha256) return known;
    const watched = { manifestSha256, older: new Half(), newer: new Half() };
    this.#watched.set(id, watched);
    return watched;
  }

  #judge(listing: WatchedListing, watched: Watched): void {
    const { older, newer } = watched;
    const all = {
      answers: older.answers + newer.answers,
      bad: older.bad + newer.bad,
      given: older.given + newer.given,
    };
    const givenMax = MEDIA.has(listing.modality) ? GIVEN_MEDIA_MAX : Number.POSITIVE_INFINITY;
    const { badPercent, answersMin } = this.#policy;
    const isSuspect = ({ answers, bad, given }: Share): boolean =>
      given >= givenMax || (answers >= answersMin && bad * 100 > badPercent * answers);
    if (!isSuspect(all) || this.#isContradicted(all, { older, newer }, isSuspect)) return;
    this.#watched.delete(listing.id);
    const breaches = byBreach((name) => older.breaches[name] + newer.breaches[name]);
    const putBack = (): void => void this.#watched.set(listing.id, watched);
    this.#onSuspect(listing, { answers: all.answers, ...breaches }, putBack);
  }

  /**
   * True if, without the answers to some one organization, enough answers remain and these are
   * good. That organization's requests then cause the breaches, and one customer must not demote a
   * provider for all others.
   */
  #isContradicted(
    all: Share,
    { older, newer }: Pick<Watched, "older" | "newer">,
    isSuspect: (share: Share) => boolean,
  ): boolean {
    const { answersMin } = this.#policy;
    const contradicts = (others: Share): boolean =>
      others.answers >= answersMin && !isSuspect(others);
    for (const [orgId, own] of newer.byOrg) {
      if (contradicts(without(all, own, older.byOrg.get(orgId)))) return true;
    }
    for (const [orgId, own] of older.byOrg) {
      if (!newer.byOrg.has(orgId) && contradicts(without(all, own))) return true;
    }
    return false;
  }
}

function without(all: Share, own: Share, earlier: Share = NOTHING): Share {
  const bad = own.bad + earlier.bad;
  if (bad === 0) return all;
  return {
    answers: all.answers - own.answers - earlier.answers,
    bad: all.bad - bad,
    given: all.given - own.given - earlier.given,
  };
}

const NOTHING: Share = Object.freeze({ answers: 0, bad: 0, given: 0 });

function count(share: Share, breaches: Breaches): void {
  share.answers += 1;
  if (breaches !== 0) share.bad += 1;
  if ((breaches & BREACH.usageMissing) !== 0) share.given += 1;
}
