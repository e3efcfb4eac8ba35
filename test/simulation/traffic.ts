import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { RequestId } from "../../src/kernel/core/ids.ts";
import { MODELS } from "./catalog.ts";
import type { ClientRequest } from "./client.ts";
import type { Random } from "./random.ts";

/** Asks to cache the prompt for an hour. If a listing has no price for that, `ttl` is left out. */
const HOUR = { type: "ephemeral", ttl: "1h" };

/** Makes one random request for a principal, on any wire and for any model. */
export function anyRequest(
  random: Random,
  number: number,
  principal: Principal,
  nowMs: number,
): ClientRequest {
  const requestId = requestIdOf(random, nowMs);
  const wire = random.pick(["wire_a", "wire_b"] as const);
  const stream = random.chance(0.6);
  const words = `[words:${random.between(1, 60)}]`;
  const cached = random.chance(0.3) ? `[cached:${random.between(1, 20)}]` : "";
  const reasoning = random.chance(0.2) ? `[reasoning:${random.between(1, 30)}]` : "";
  const body = {
    model: random.pick(MODELS),
    max_tokens: random.between(1, 200),
    ...(stream ? { stream } : {}),
    ...(wire === "wire_b" && random.chance(0.3) ? { cache_control: HOUR } : {}),
    messages: [
      { role: "user", content: `This is request ${requestId}. ${words}${cached}${reasoning}` },
    ],
  };
  return {
    number,
    requestId,
    principal,
    wire,
    stream,
    body: Buffer.from(JSON.stringify(body)),
  };
}

function requestIdOf(random: Random, nowMs: number): RequestId {
  const time = Math.floor(nowMs).toString(16).padStart(12, "0");
  const text = `${time.slice(0, 8)}-${time.slice(8)}-7${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`;
  return text as RequestId;
}
