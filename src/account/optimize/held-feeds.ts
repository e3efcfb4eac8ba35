import type { ChangedBy, OrgId } from "../../kernel/index.ts";
import type { AnswerFeed } from "./answer-feed.ts";

/** For so long after its end the answers of a search can be fetched. */
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

  /** Undefined: it is not here, or not of this person. */
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
