import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import type { TortureDatabase } from "./database.ts";
import type { GatewayLife, GatewaySlot } from "./gateway-slot.ts";
import { nextKill, type Blow } from "./plan.ts";
import type { Random } from "../simulation/random.ts";
import {
  awaitTakeOver,
  holdsLease,
  noteDeparture,
  type Departed,
  type TakeOver,
} from "./take-over.ts";

const POLL_MS = 20;
const READY_WITHIN_MS = 120_000;

export interface HavocSettings {
  readonly slots: readonly GatewaySlot[];
  readonly database: TortureDatabase;
  readonly dice: Random;
  /** A gateway is killed or paused only once its present process has given this many answers. */
  readonly answersBeforeABlow: number;
  readonly say: (line: string) => void;
}

type ZombieBlow = Blow & { readonly kind: "zombie" };

interface Frozen {
  readonly life: GatewayLife;
  readonly startMs: number;
  readonly departed: Departed;
  readonly blow: ZombieBlow;
}

/** A period in which settlements could not commit, in monotonic milliseconds. */
export interface Trouble {
  /** The gateway that was paused; undefined if the database was down. */
  readonly life: GatewayLife | undefined;
  readonly startMs: number;
  readonly endMs: number;
}

/** Kills and pauses processes of the running system, and counts how often. */
export class Havoc {
  gatewayKills = 0;
  databaseKills = 0;
  zombies = 0;
  readonly takeOvers: TakeOver[] = [];
  /** The periods in which the database was down or a gateway was paused. */
  readonly troubles: Trouble[] = [];
  readonly #settings: HavocSettings;
  /** The paused gateway, and another that is not killed meanwhile, so that it can take over. */
  #spared: readonly GatewaySlot[] = [];
  #zombie: Promise<void> = Promise.resolve();

  constructor(settings: HavocSettings) {
    this.#settings = settings;
  }

  /** Does all kills and pauses in order, then kills more gateways until `seconds` have passed. */
  async run(blows: readonly Blow[], seconds: number): Promise<void> {
    const { dice } = this.#settings;
    const endMs = systemClock.monotonicMs() + seconds * 1_000;
    for (const blow of blows) await this.#strike(blow);
    while (systemClock.monotonicMs() < endMs) await this.#strike(nextKill(dice));
    await this.#zombie;
  }

  /** Kills a gateway, starts no other, and waits until its peers have closed what it left open. */
  async killForGood(): Promise<void> {
    const { database, say } = this.#settings;
    const slot = await this.#loadedSlot();
    const life = lifeOf(slot);
    this.gatewayKills += 1;
    say(`kill ${this.#kills()}: gateway ${slot.number}, which stays away`);
    slot.kill(true);
    const departed = await noteDeparture(database, life);
    this.takeOvers.push(await awaitTakeOver(database, departed, "killed"));
  }

  /** Waits until each remaining gateway has answered again, after the last fault. */
  async everyoneServes(): Promise<void> {
    for (const slot of this.#settings.slots.filter((each) => each.isWanted)) {
      const { life } = slot;
      const before = life?.answers ?? 0;
      await this.until(`gateway ${slot.number} serves on`, () => {
        const answers = slot.life?.answers ?? 0;
        return slot.life === life ? answers > before : answers > 0;
      });
    }
  }

  async #strike(blow: Blow): Promise<void> {
    await sleep(blow.pauseMs);
    switch (blow.kind) {
      case "gateway":
        return await this.#killGateway();
      case "database":
        await this.#zombie;
        return await this.#killDatabase(blow.downMs);
      case "zombie":
        await this.#zombie;
        return await this.#freeze(blow);
      default:
        throw new Error(`unknown blow ${String(blow satisfies never)}`);
    }
  }

  async #killGateway(): Promise<void> {
    const slot = await this.#loadedSlot();
    this.gatewayKills += 1;
    this.#settings.say(`kill ${this.#kills()}: gateway ${slot.number}`);
    slot.kill();
  }

  async #killDatabase(downMs: number): Promise<void> {
    const { database, say } = this.#settings;
    await this.#loadedSlot();
    this.databaseKills += 1;
    say(`kill ${this.#kills()}: the database, for ${downMs} ms`);
    const startMs = systemClock.monotonicMs();
    database.kill();
    await sleep(downMs);
    await database.restart();
    this.troubles.push({ life: undefined, startMs, endMs: systemClock.monotonicMs() });
  }

  /** Pauses a gateway, and resumes it in the background while other gateways are killed. */
  async #freeze(blow: ZombieBlow): Promise<void> {
    const { slots, dice, say, database } = this.#settings;
    const slot = await this.#loadedSlot();
    const life = lifeOf(slot);
    this.#spared = [slot, dice.pick(slots.filter((other) => other !== slot))];
    say(`gateway ${slot.number} is paused`);
    slot.freeze(true);
    const startMs = systemClock.monotonicMs();
    const departed = await noteDeparture(database, life);
    this.#zombie = this.#awaken(slot, { life, startMs, departed, blow }).finally(
      () => (this.#spared = []),
    );
    // A failure is thrown where `#zombie` is awaited; until then it must not end the program.
    this.#zombie.catch(() => undefined);
  }

  async #awaken(slot: GatewaySlot, frozen: Frozen): Promise<void> {
    const { database, say } = this.#settings;
    const { life, startMs, departed, blow } = frozen;
    this.zombies += 1;
    if (blow.wakes === "late") {
      this.takeOvers.push(await awaitTakeOver(database, departed, "frozen"));
    }
    const leaseLeftMs = departed.leaseEndsMs - systemClock.monotonicMs();
    await sleep(Math.max(0, leaseLeftMs) + blow.wakesAfterMs);
    say(`gateway ${slot.number} resumes`);
    slot.freeze(false);
    this.troubles.push({ life, startMs, endMs: systemClock.monotonicMs() });
    await this.until("the paused gateway has a lease again", () =>
      slot.life === undefined ? false : holdsLease(database, slot.life),
    );
  }

  #kills(): number {
    return this.gatewayKills + this.databaseKills;
  }

  /** Waits until a gateway has answered often enough to be killed or paused, and returns one. */
  async #loadedSlot(): Promise<GatewaySlot> {
    const { slots, dice, answersBeforeABlow } = this.#settings;
    const loaded = (): GatewaySlot[] =>
      slots.filter(
        (slot) => !this.#spared.includes(slot) && (slot.life?.answers ?? 0) >= answersBeforeABlow,
      );
    await this.until("a gateway is at work", () => loaded().length > 0);
    return dice.pick(loaded());
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const lastMs = systemClock.monotonicMs() + READY_WITHIN_MS;
    while (!(await isSo())) {
      if (systemClock.monotonicMs() > lastMs) {
        throw new Error(`waited ${READY_WITHIN_MS} ms in vain until ${what}`);
      }
      await sleep(POLL_MS);
    }
  }
}

function lifeOf(slot: GatewaySlot): GatewayLife {
  if (slot.life === undefined) throw new Error("a loaded gateway has a life");
  return slot.life;
}
