import type { ChangedBy, MicroUsd, OrgId } from "../../kernel/index.ts";

/** Characters of answers that are held of one search. */
export const FEED_CHARS_MAX = 1_000_000;
/** Characters of one handing over. */
const PAGE_CHARS_MAX = 300_000;

/** The answer of one model to one prompt. */
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

/** The judge's verdict on the answers to one prompt. */
export interface FedVerdict {
  readonly kind: "verdict";
  readonly promptAt: number;
  /** Null: its reply named none of them. */
  readonly winner: string | null;
  readonly costMicroUsd: MicroUsd;
}

export type FedEvent = FedAnswer | FedVerdict;

/** Some of the events of a search, in their order. */
export interface FedEvents {
  readonly events: readonly FedEvent[];
  /** The position after which the next read begins. */
  readonly next: number;
  /** The number of requested answers that are no longer kept. */
  readonly lost: number;
  readonly hasMore: boolean;
}

/**
 * The answers of one search on their way to the browser that started it: in memory, a bounded
 * number of characters, oldest out. Reading takes nothing away, so that an answer that got lost on
 * the way can be asked for again.
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

  /** The events after the first `after`. */
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

/** Every event counts, also one without a text. */
function measureEvent(event: FedEvent): number {
  return 100 + (event.kind === "answer" ? (event.text?.length ?? 0) : 0);
}

/** How long the answers of a search can be fetched after its end. */
const HELD_AFTER_END_MS = 10 * 60_000;

/** Whose answers these are: of the person who started the search, and of no other. */
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

/** The answers of the searches of this process, in memory alone. */
export class HeldFeeds {
  readonly #endedMax: number;
  readonly #held = new Map<string, Held>();

  constructor(endedMax: number) {
    this.#endedMax = endedMax;
  }

  hold(owner: FeedOwner, feed: AnswerFeed): void {
    this.#held.set(owner.searchId, { owner, feed, ending: undefined });
  }

  /** Undefined if it is not here, or not of this person. */
  find({ orgId, searchId, by }: FeedOwner): AnswerFeed | undefined {
    const held = this.#held.get(searchId);
    if (held === undefined || held.owner.orgId !== orgId) return undefined;
    const { kind, id } = held.owner.by;
    return kind === by.kind && id === by.id ? held.feed : undefined;
  }

  /** Its search has ended: forgotten in some minutes, or when too many others have ended. */
  endSoon(searchId: string): void {
    const held = this.#held.get(searchId);
    if (held === undefined) return;
    // Again at the end of the map: the order is that of the ends.
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
