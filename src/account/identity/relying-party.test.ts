import { describe, expect, test } from "vitest";

import { readLogout } from "./relying-party.ts";

const nowMs = 1_800_000_000_000;
const good = {
  iss: "https://id.example.com",
  iat: nowMs / 1_000,
  jti: "logout-1",
  sub: "ada",
  sid: "session-1",
  events: { "http://schemas.openid.net/event/backchannel-logout": {} },
};

test("a logout token is read with its subject, its session id, or both", () => {
  expect(readLogout(good, nowMs)).toEqual({
    issuer: "https://id.example.com",
    tokenId: "logout-1",
    subject: "ada",
    sid: "session-1",
  });
  const { sid: _sid, ...bySubject } = good;
  expect(readLogout(bySubject, nowMs)).toMatchObject({ subject: "ada", sid: undefined });
  const { sub: _sub, ...bySid } = good;
  expect(readLogout(bySid, nowMs)).toMatchObject({ subject: undefined, sid: "session-1" });
});

describe("no session is ended", () => {
  const event = Object.keys(good.events)[0] ?? "";
  const wrong: Record<string, object> = {
    "an id token, which has a nonce": { nonce: "n" },
    "a token without the event": { events: {} },
    "a token whose event is not an object": { events: { [event]: true } },
    "a token that names no user": { sub: undefined, sid: undefined },
    "a token without an id": { jti: undefined },
    "a token with an id that is too long": { jti: "x".repeat(600) },
    "a token whose subject is not a text": { sub: 7 },
    "a token issued more than two minutes ago": { iat: nowMs / 1_000 - 121 },
    "a token issued more than two minutes in the future": { iat: nowMs / 1_000 + 121 },
    "a token without an issue time": { iat: undefined },
  };
  test.each(Object.entries(wrong))("by %s", (_words, change) => {
    expect(readLogout({ ...good, ...change }, nowMs)).toBeUndefined();
  });
});
