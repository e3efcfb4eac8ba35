import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

import { answerOf, bodyOf, type Ask, type HttpAnswer } from "../support/ask.ts";
import type { TortureAccount } from "./accounts.ts";
import type { GatewayLife, GatewaySlot } from "./gateway-slot.ts";
import type { Random } from "../simulation/random.ts";
import type { Tally } from "./tally.ts";

export const TORTURE_MODEL = "torture/model";

const NO_GATEWAY_MS = 25;
/** A refused client waits this long, in milliseconds, before it asks again. */
const REFUSED_PAUSE_MS: readonly [number, number] = [100, 600];
const LEAVES_EARLY = 0.05;
const PATIENCE_MS = 90_000;

export interface ClientSettings {
  readonly slot: GatewaySlot;
  readonly accounts: readonly TortureAccount[];
  readonly dice: Random;
  readonly tally: Tally;
  readonly isOver: () => boolean;
}

/** One client: asks, reads the answer to its end or leaves, and asks again, until `isOver`. */
export async function runClient(settings: ClientSettings): Promise<void> {
  const { slot, dice, tally, isOver } = settings;
  while (!isOver()) {
    const { life } = slot;
    if (life === undefined) {
      await sleep(NO_GATEWAY_MS);
      continue;
    }
    const asked = nextAsk(settings);
    tally.asked += 1;
    const ending = await askOnce(life, asked, dice.chance(LEAVES_EARLY) ? dice.between(1, 800) : 0);
    if (noteEnding(tally, life, ending, asked)) continue;
    await sleep(dice.between(...REFUSED_PAUSE_MS));
  }
}

function nextAsk({ accounts, dice }: ClientSettings): Ask {
  return {
    key: dice.pick(dice.pick(accounts).keys),
    wire: dice.chance(0.5) ? "wire_a" : "wire_b",
    model: TORTURE_MODEL,
    text: "Are the books in order?",
    stream: dice.chance(0.5),
    maxTokens: dice.between(8, 64),
    ...(dice.chance(0.3) && { more: { cache_control: { type: "ephemeral", ttl: "1h" } } }),
  };
}

/** How a call ended for the client: an answer, a broken connection, it left, or no answer came. */
type Ending = HttpAnswer | "broken" | "left" | "unanswered";

/** Counts the ending. Returns true if the client asks again at once, false if it pauses first. */
function noteEnding(tally: Tally, life: GatewayLife, ending: Ending, asked: Ask): boolean {
  if (typeof ending === "string") {
    tally[ending] += 1;
    return ending === "left";
  }
  if (ending.status !== 200) {
    tally.refuse(ending);
    return false;
  }
  if (!isWhole(ending, asked)) {
    tally.died += 1;
    return true;
  }
  tally.report(life, ending);
  return true;
}

function isWhole({ text, json }: HttpAnswer, { stream, wire }: Ask): boolean {
  if (stream !== true) return json !== undefined;
  if (text.includes('"error":{')) return false;
  return wire === "wire_a"
    ? text.endsWith("data: [DONE]\n\n")
    : text.includes("event: message_stop\n");
}

/** Sends one call; leaves after `leaveAfterMs` when that is not 0. */
function askOnce(life: GatewayLife, asked: Ask, leaveAfterMs: number): Promise<Ending> {
  return new Promise((done) => {
    const sent = openCall(life, asked);
    const limitMs = leaveAfterMs === 0 ? PATIENCE_MS : leaveAfterMs;
    const timer = setTimeout(() => {
      done(leaveAfterMs === 0 ? "unanswered" : "left");
      sent.destroy();
    }, limitMs);
    const end = (ending: Ending): void => {
      clearTimeout(timer);
      done(ending);
    };
    sent.on("error", () => end("broken"));
    sent.on("response", (response) => {
      readAll(response).then(end, () => end("broken"));
    });
  });
}

function openCall(life: GatewayLife, asked: Ask): ClientRequest {
  const path = asked.wire === "wire_a" ? "/v1/chat/completions" : "/v1/messages";
  const body = Buffer.from(bodyOf(asked));
  const sent = httpRequest(life.url + path, {
    agent: life.agent,
    method: "POST",
    headers: {
      authorization: `Bearer ${asked.key}`,
      "content-type": "application/json",
      "content-length": body.length,
      ...(asked.wire === "wire_b" ? { "anthropic-version": "2023-06-01" } : {}),
    },
  });
  sent.end(body);
  return sent;
}

async function readAll(response: IncomingMessage): Promise<HttpAnswer> {
  return answerOf(response, await readText(response));
}
