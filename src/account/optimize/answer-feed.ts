import type { ChangedBy, MicroUsd, OrgId } from "../../kernel/index.ts";

/** The most characters of answers that are held for one search. */
export const FEED_CHARS_MAX = 1_000_000;
/** The most characters of one read. */
const PAGE_CHARS_MAX = 300_000;

export interface FedAnswer {
  readonly kind: "answer";
  /** 0 is the first prompt. */
  readonly promptAt: number;
  readonly modelId: string;
  /** At most 16,000 characters; null if it did not answer. */
  readonly text: string | null;
  readonly costMicroUsd: MicroUsd;
  readonly firstByteMs: number | null;
  readonly totalMs: number | null;
}

export interface FedVerdict {
  readonly kind: "verdict";
  readonly promptAt: number;
  /** Null if its reply named none of them. */
  readonly winner: string | null;
  readonly costMicroUsd: MicroUsd;
}

export type FedEvent = FedAnswer | FedVerdict;

/** Some of the events of a search, in their order. */
export interface FedEvents {
  readonly events: readonly FedEvent[];
  /** The position after which the next read begins. */
  readonly next: number;
  /** The number of requested events that are no longer held. */
  readonly lost: number;
  readonly hasMore: boolean;
}

/**
 * Holds the answers of one search for the browser that started it: in memory, up to a number of
 * characters, without the oldest ones. Reading removes nothing, so that a lost answer can be read
 * again.
 */
export class AnswerFeed {
  readonly #charsMax: number;
  readonly #held: FedEvent[] = [];
  #chars = 0;
  #forgotten = 0;

  constructor(charsMax = FEED_CHARS_MAX) {
    this.#charsMax = charsMax;
  }

  push(event: FedEvent): void {
    this.#held.push(event);
    this.#chars += measureEvent(event);
    while (this.#chars > this.#charsMax) {
      const oldest = this.#held.shift();
      if (oldest === undefined) return;
      this.#chars -= measureEvent(oldest);
      this.#forgotten += 1;
    }
  }

  since(after: number): FedEvents {
    const from = Math.max(after, this.#forgotten);
    const events: FedEvent[] = [];
    let chars = 0;
    for (const event of this.#held.slice(from - this.#forgotten)) {
      chars += measureEvent(event);
      if (events.length > 0 && chars > PAGE_CHARS_MAX) break;
      events.push(event);
    }
    const next = from + events.length;
    const end = this.#forgotten + this.#held.length;
    return { events, next, lost: from - after, hasMore: next < end };
  }
}

/** The characters of an event; one without a text counts too. */
function measureEvent(event: FedEvent): number {
  return 100 + (event.kind === "answer" ? (event.text?.length ?? 0) : 0);
}

/** How long the answers of a search can be fetched after its end. */
const HELD_AFTER_END_MS = 10 * 60_000;

/** A search and the person who started it, who alone may read its answers. */
export interface FeedOwner {
  readonly orgId: OrgId;
  readonly searchId: string;
  readonly by: ChangedBy;
}

interface Held {
  readonly owner: FeedOwner;
  readonly feed: AnswerFeed;
  ending: NodeJS.Timeout | undefined;
}

/** The answers of this process's searches, in memory only. */
export class HeldFeeds {
  readonly #endedMax: number;
  readonly #held = new Map<string, Held>();

  constructor(endedMax: number) {
    this.#endedMax = endedMax;
  }

  hold(owner: FeedOwner, feed: AnswerFeed): void {
    this.#held.set(owner.searchId, { owner, feed, ending: undefined });
  }

  /** Undefined if this process does not hold it, or it is not of this person. */
  find({ orgId, searchId, by }: FeedOwner): AnswerFeed | undefined {
    const held = this.#held.get(searchId);
    if (held === undefined || held.owner.orgId !== orgId) return undefined;
    const { kind, id } = held.owner.by;
    return kind === by.kind && id === by.id ? held.feed : undefined;
  }

  /** Forgets the answers of an ended search in ten minutes, or when too many others have ended. */
  endSoon(searchId: string): void {
    const held = this.#held.get(searchId);
    if (held === undefined) return;
    // Moved to the end of the map, so that ended searches are in the order of their ends.
    this.#held.delete(searchId);
    this.#held.set(searchId, held);
    held.ending = setTimeout(() => this.#forget(searchId), HELD_AFTER_END_MS).unref();
    const ended = [...this.#held].filter(([, { ending }]) => ending !== undefined);
    for (const [old] of ended.slice(0, Math.max(0, ended.length - this.#endedMax))) {
      this.#forget(old);
    }
  }

  close(): void {
    for (const searchId of this.#held.keys()) this.#forget(searchId);
  }

  #forget(searchId: string): void {
    clearTimeout(this.#held.get(searchId)?.ending);
    this.#held.delete(searchId);
  }
}
