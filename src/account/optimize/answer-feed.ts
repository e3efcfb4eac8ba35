import type { ChangedBy, MicroUsd, OrgId } from "../../kernel/index.ts";
import type { EndedCall } from "./model-caller.ts";

export const FEED_CHARS_MAX = 1_000_000;
const PAGE_CHARS_MAX = 300_000;

export interface FedAnswer extends Pick<EndedCall, "costMicroUsd" | "firstByteMs" | "totalMs"> {
  readonly kind: "answer";
  /** The index of the prompt, from 0. */
  readonly promptAt: number;
  readonly modelId: string;
  /** At most 16,000 characters; null if the model did not answer. */
  readonly text: string | null;
}

export interface FedVerdict {
  readonly kind: "verdict";
  readonly promptAt: number;
  /** Null if the judge's reply named no candidate. */
  readonly winner: string | null;
  readonly costMicroUsd: MicroUsd;
}

export type FedEvent = FedAnswer | FedVerdict;

export interface FedEvents {
  readonly events: readonly FedEvent[];
  /** The position to pass as `after` to the next read. */
  readonly next: number;
  /** The number of requested events that were dropped before this read. */
  readonly lost: number;
  readonly hasMore: boolean;
}

/** Reading removes nothing, so that a lost response can be read again. */
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

/** An event counts 100 characters more than its text, which limits events without text too. */
function measureEvent(event: FedEvent): number {
  return 100 + (event.kind === "answer" ? (event.text?.length ?? 0) : 0);
}

const HELD_AFTER_END_MS = 10 * 60_000;

/** Only the person `by`, who started the search, may read its answers. */
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

export class HeldFeeds {
  readonly #endedMax: number;
  readonly #held = new Map<string, Held>();

  constructor(endedMax: number) {
    this.#endedMax = endedMax;
  }

  hold(owner: FeedOwner, feed: AnswerFeed): void {
    this.#held.set(owner.searchId, { owner, feed, ending: undefined });
  }

  /** Undefined if this process does not hold the answers, or if another person began the search. */
  find({ orgId, searchId, by }: FeedOwner): AnswerFeed | undefined {
    const held = this.#held.get(searchId);
    if (held === undefined || held.owner.orgId !== orgId) return undefined;
    const { kind, id } = held.owner.by;
    return kind === by.kind && id === by.id ? held.feed : undefined;
  }

  /** Drops the answers after ten minutes, or earlier if more than `endedMax` searches ended. */
  endSoon(searchId: string): void {
    const held = this.#held.get(searchId);
    if (held === undefined) return;
    // Adding the search again keeps the map's ended searches in the order in which they ended.
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
