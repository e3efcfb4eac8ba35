import type { Adapter, AdapterPayload } from "oidc-provider";

import type { Clock } from "../../core/index.ts";
import { hashOf } from "../browser-token.ts";
import type { LocalIssuerStore, LocalRecord } from "../identity-store.ts";

/**
 * One kind of the issuer's records. Their ids open something (codes, sessions), so they are kept as
 * hashes and put back when a caller that has one asks.
 */
export class IssuerRecords implements Adapter {
  readonly #kind: string;
  readonly #store: LocalIssuerStore;
  readonly #clock: Clock;

  constructor(kind: string, store: LocalIssuerStore, clock: Clock) {
    this.#kind = kind;
    this.#store = store;
    this.#clock = clock;
  }

  async upsert(id: string, payload: AdapterPayload, expiresInSeconds: number): Promise<void> {
    const { jti: _id, session, ...rest } = payload;
    // A session inside an interaction names its cookie: it is never read.
    const { cookie: _cookie, ...named } = session ?? {};
    await this.#store.upsertRecord({
      kind: this.#kind,
      idHash: hashOf(id),
      payload: { ...rest, ...(session === undefined ? {} : { session: named }) },
      uid: payload.uid ?? null,
      grantId: this.#kind === "Grant" ? null : (payload.grantId ?? null),
      consumedAtMs: null,
      expiresAtMs: this.#clock.nowMs() + expiresInSeconds * 1_000,
    });
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const record = await this.#store.findRecord(this.#kind, hashOf(id));
    return record === undefined ? undefined : { ...payloadOf(record), jti: id };
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const record = await this.#store.findRecordByUid(this.#kind, uid);
    return record === undefined ? undefined : payloadOf(record);
  }

  /** Codes that are typed in on a second device are not offered. */
  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async consume(id: string): Promise<void> {
    await this.#store.consumeRecord(this.#kind, hashOf(id), this.#clock.nowMs());
  }

  async destroy(id: string): Promise<void> {
    await this.#store.dropRecord(this.#kind, hashOf(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#store.dropRecordsOfGrant(grantId);
  }
}

function payloadOf(record: LocalRecord): AdapterPayload {
  const { payload, consumedAtMs } = record;
  const consumed = consumedAtMs === null ? {} : { consumed: Math.floor(consumedAtMs / 1_000) };
  return { ...payload, ...consumed };
}
