import { expect, test } from "vitest";

import { actionNames, changeSentence } from "./actions.ts";
import { dollars, type Facts } from "./change-words.ts";

test.each<[string, Facts | null, Facts | null, string | null, string]>([
  ["key.create", null, { name: "ci", rpm: 60 }, null, "created the key “ci”"],
  [
    "key.cap",
    { cap_usd: "5.000000" },
    { cap_usd: null },
    null,
    "changed the monthly cap of a key from $5.00 to none",
  ],
  [
    "key.expiry",
    { expires_at: null },
    { expires_at: "2027-01-31T09:00:00.000Z" },
    "ci",
    "changed the expiry of the key “ci” to 31 January 2027 at 09:00 (UTC)",
  ],
  [
    "member.invite",
    null,
    { email: "pr…@acme.example", role: "developer", expires_at: "2027-01-31T00:00:00.000Z" },
    null,
    "invited pr…@acme.example as Developer",
  ],
  [
    "member.role",
    { role: "viewer" },
    { role: "owner" },
    "maya@acme.example",
    "changed the role of maya@acme.example from Viewer to Owner",
  ],
  [
    "limit.change",
    null,
    { scope: "model", of_one_key: true, model: "lab/one", rpm: 60, tpm: null, concurrency: null },
    "ci",
    "changed the limits of the key “ci” for lab/one to 60 requests per minute",
  ],
  [
    "limit.change",
    null,
    { scope: "key", of_one_key: false, model: null, rpm: 60, tpm: null, concurrency: null },
    "Acme Robotics",
    "changed the limits of each key to 60 requests per minute",
  ],
  [
    "limit.change",
    null,
    { scope: "model", of_one_key: false, model: "lab/one", rpm: 60, tpm: null, concurrency: null },
    "Acme Robotics",
    "changed the limits of the organization for lab/one to 60 requests per minute",
  ],
  [
    "topup.rule",
    null,
    { on: true, below_usd: "10.000000", amount_usd: "50.000000", month_max_usd: "1200.000000" },
    null,
    "turned automatic top-up on for $50.00 below a balance of $10.00 and at most $1,200.00 a month",
  ],
  [
    "topup.rule",
    { on: true, below_usd: "10.000000", amount_usd: "50.000000", month_max_usd: "1200.000000" },
    { on: true, below_usd: "20.000000", amount_usd: "50.000000", month_max_usd: "1200.000000" },
    null,
    "changed automatic top-up to $50.00 below a balance of $20.00 and at most $1,200.00 a month",
  ],
])("the change %s reads as a sentence: case %#", (action, before, after, name, sentence) => {
  expect(changeSentence({ action, before, after }, name)).toBe(sentence);
});

test("no sentence contains the name of a field or an id, whatever was recorded", () => {
  const facts = {
    name: "ci",
    cap_usd: "20.000000",
    expires_at: "2027-01-31T09:00:00.000Z",
    is_trial: true,
    provider: "lab",
    reason: "refused_requests 200 in 300 s",
  };
  for (const action of actionNames()) {
    for (const [before, after] of [
      [null, facts],
      [facts, null],
      [facts, facts],
      [null, null],
    ] as const) {
      const sentence = changeSentence({ action, before, after }, null);
      expect(sentence).toMatch(/^[a-z].{5,}[a-z0-9”).]$/);
      expect(sentence).not.toMatch(/[a-z]_[a-z]|undefined|null|: (yes|no)\b|\.\d{6}/);
    }
  }
});

test("an amount is rounded down to the cent, and less than a cent keeps its digits", () => {
  const said = ["12.500000", "4.999999", "0.167980", "0.000363", "0.000000", "1234567.890000"];
  expect(said.map(dollars)).toEqual([
    "$12.50",
    "$4.99",
    "$0.16",
    "$0.000363",
    "$0.00",
    "$1,234,567.89",
  ]);
});
