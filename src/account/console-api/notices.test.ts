import { describe, expect, test } from "vitest";

import { microUsd, type KeyId } from "../../kernel/index.ts";
import { listNotices, type NoticeInput } from "./notices.ts";

const NOW_MS = Date.UTC(2026, 10, 24, 12);
const NOTHING: NoticeInput["facts"] = {
  refused: {},
  neededMicroUsd: null,
  neededUnderCapMicroUsd: null,
  refusedSinceMs: null,
  cappedKeys: [],
  models: [],
};
const WELL: NoticeInput = {
  nowMs: NOW_MS,
  isFunded: true,
  unfundedRequestsPerMinute: 20,
  balance: { settledMicroUsd: microUsd(50_000_000n), heldMicroUsd: microUsd(0n) },
  month: {
    spentMicroUsd: microUsd(24_000_000n),
    inFlightMicroUsd: microUsd(0n),
    capMicroUsd: null,
    resetAtMs: Date.UTC(2026, 11, 1),
  },
  lowBelowMicroUsd: null,
  topUpPause: undefined,
  holds: [],
  facts: NOTHING,
  unservedModels: [],
};

type Change = Partial<Omit<NoticeInput, "balance" | "month" | "facts">> & {
  readonly balance?: Partial<NoticeInput["balance"]>;
  readonly month?: Partial<NoticeInput["month"]>;
  readonly facts?: Partial<NoticeInput["facts"]>;
};

function shown({ balance, month, facts, ...more }: Change): string {
  const input = {
    ...WELL,
    ...more,
    balance: { ...WELL.balance, ...balance },
    month: { ...WELL.month, ...month },
    facts: { ...NOTHING, ...facts },
  };
  return listNotices(input)
    .map((each) => `${each.severity} ${each.kind} ${each.action}`)
    .join(", ");
}

const dollars = (amount: number): ReturnType<typeof microUsd> =>
  microUsd(BigInt(amount) * 1_000_000n);

const CI = { keyId: "k1" as KeyId, name: "ci" };
const LAB = { keyId: "k2" as KeyId, name: "lab" };

const left = (settledMicroUsd: NoticeInput["balance"]["settledMicroUsd"]): Change => ({
  balance: { settledMicroUsd },
});
const capped = (capMicroUsd: NoticeInput["month"]["capMicroUsd"]): Change => ({
  month: { capMicroUsd },
});
const needed = (amount: number): Change => ({
  facts: { neededMicroUsd: dollars(amount), refused: { balance: 4 } },
});
const paused = (reason: "operator" | "card_declined"): Change => ({
  topUpPause: { reason, sinceMs: NOW_MS },
});
const refusedByCap = { neededUnderCapMicroUsd: dollars(2), refused: { org_cap: 1 } };
const unfunded: Change = { isFunded: false, ...left(dollars(0)) };
const held = { family: "chat", state: "restricted", createdAtMs: NOW_MS } as const;

test.each<[string, Change, string]>([
  ["nothing while all is well", {}, ""],
  ["that its credit is used up", left(dollars(0)), "bad out_of_credit add_credit"],
  ["that a refund left it below zero", left(dollars(-3)), "bad out_of_credit add_credit"],
  ["that its credit does not cover a refused request", needed(51), "bad credit_short add_credit"],
  ["nothing once its credit covers the refused requests", needed(50), ""],
  [
    "that its balance lasts less than a day",
    left(microUsd(999_999n)),
    "warn low_balance add_credit",
  ],
  [
    "that its balance is below an alert's threshold",
    { lowBelowMicroUsd: microUsd(50_000_001n) },
    "warn low_balance add_credit",
  ],
  [
    "nothing while its balance equals an alert's threshold",
    { lowBelowMicroUsd: microUsd(50_000_000n) },
    "",
  ],
  [
    "that its top-up is paused because its card was declined",
    paused("card_declined"),
    "warn top_up_paused open_billing",
  ],
  [
    "that its top-up is paused by the operator, and to contact support",
    paused("operator"),
    "warn top_up_paused contact_support",
  ],
  ["that its monthly cap is used up", capped(dollars(24)), "bad org_cap_reached raise_cap"],
  [
    "that its monthly cap refuses requests that cost more than the rest",
    { ...capped(dollars(25)), facts: refusedByCap },
    "bad org_cap_reached raise_cap",
  ],
  ["that 80% of its monthly cap is used", capped(dollars(30)), "warn org_cap_near raise_cap"],
  ["nothing while less than 80% of its monthly cap is used", capped(microUsd(30_000_001n)), ""],
  ["that unusual use restricts its requests", { holds: [held] }, "bad unusual_use contact_support"],
  [
    "that no provider serves one of its models",
    { unservedModels: [{ id: "a/b", name: "B" }] },
    "warn provider_trouble view_model",
  ],
  ["that it never had credit", unfunded, "info never_funded add_credit"],
  [
    "that its requests are refused, before the notice that it never had credit",
    { ...unfunded, facts: { refused: { balance: 2 } } },
    "bad out_of_credit add_credit, info never_funded add_credit",
  ],
])("an organization is shown %s", (_, change, expected) => {
  expect(shown(change)).toBe(expected);
});

test("notices are sorted by severity, each with its text, refusal count, start time and key", () => {
  const key = { ...CI, period: "month", capMicroUsd: dollars(2) } as const;
  const notices = listNotices({
    ...WELL,
    balance: { settledMicroUsd: dollars(0), heldMicroUsd: dollars(0) },
    month: { ...WELL.month, capMicroUsd: dollars(25) },
    facts: {
      ...NOTHING,
      refused: { balance: 1_204 },
      refusedSinceMs: NOW_MS - 60_000,
      cappedKeys: [{ ...key, spentMicroUsd: dollars(2), heldMicroUsd: dollars(0) }],
    },
  });
  expect(
    notices.map(({ text, refused, since, target }) => ({ text, refused, since, target })),
  ).toEqual([
    {
      text: "Out of credit: requests are being rejected.",
      refused: 1_204,
      since: "2026-11-24T11:59:00.000Z",
      target: null,
    },
    {
      text: "96% of the organization's monthly cap of $25.00 is used. At the cap, all requests are rejected until it resets on 1 December (UTC).",
      refused: 0,
      since: null,
      target: null,
    },
    {
      text: "Key “ci” has used up its monthly cap of $2.00: its requests are rejected until it resets on 1 December (UTC).",
      refused: 0,
      since: null,
      target: "k1",
    },
  ]);
});

test.each([
  ["the reset", 2, " It resets on 1 December (UTC)."],
  ["no reset, which would not help,", 26, ""],
])(
  "the notice of a monthly cap that refuses requests says what is left, and %s if they need %s dollars",
  (_, usd, end) => {
    const [notice] = listNotices({
      ...WELL,
      month: { ...WELL.month, capMicroUsd: dollars(25) },
      facts: { ...NOTHING, ...refusedByCap, neededUnderCapMicroUsd: dollars(usd) },
    });
    expect(notice?.text).toBe(
      `The organization's monthly cap of $25.00 has $1.00 left: requests that could cost more are being rejected.${end}`,
    );
  },
);

describe("the notice about caps of keys", () => {
  type Cap = NoticeInput["facts"]["cappedKeys"][number];
  const cap = (of: typeof CI, period: Cap["period"], spent: number, heldUsd = 0): Cap => ({
    ...of,
    period,
    capMicroUsd: dollars(10),
    spentMicroUsd: dollars(spent),
    heldMicroUsd: dollars(heldUsd),
  });
  const cases: readonly (readonly [string, readonly Cap[], readonly string[]])[] = [
    [
      "names a used-up daily cap and its reset on the next day",
      [cap(CI, "day", 10)],
      [
        "Key “ci” has used up its daily cap of $10.00: its requests are rejected until it resets on 25 November (UTC).",
      ],
    ],
    [
      "names a weekly cap that is near and its reset on Monday",
      [cap(CI, "week", 9)],
      ["Key “ci” has used $9.00 of its weekly cap of $10.00, which resets on 30 November (UTC)."],
    ],
    [
      "names only the cap that resets last if a key has two full caps",
      [cap(CI, "day", 11), cap(CI, "week", 10), cap(CI, "month", 9)],
      [
        "Key “ci” has used up its weekly cap of $10.00: its requests are rejected until it resets on 30 November (UTC).",
      ],
    ],
    [
      "does not call a cap used up whose rest is only held by requests in progress",
      [cap(CI, "day", 3, 7)],
      [
        "Key “ci”: $10.00 of its daily cap of $10.00 is used or held by requests in progress. The cap resets on 25 November (UTC).",
      ],
    ],
    [
      "says that a part is held if it is so for one of several keys",
      [cap(CI, "day", 3, 7), cap(LAB, "day", 8)],
      [
        "2 keys have 80% or more of their daily caps used or held by requests in progress. The caps reset on 25 November (UTC).",
      ],
    ],
    [
      "says when the first cap resets if several keys have full caps",
      [cap(CI, "day", 10), cap(LAB, "month", 10)],
      [
        "2 keys have used up their caps: their requests are rejected until the caps reset. The first of these caps resets on 25 November (UTC).",
      ],
    ],
    [
      "names the period of the caps if several keys are near a cap of the same period",
      [cap(CI, "day", 9), cap(LAB, "day", 8)],
      ["2 keys have used 80% or more of their daily caps. The caps reset on 25 November (UTC)."],
    ],
  ];
  test.each(cases)("%s", (_, cappedKeys, expected) => {
    const notices = listNotices({ ...WELL, facts: { ...NOTHING, cappedKeys } });
    expect(notices.map(({ text }) => text)).toEqual(expected);
  });

  test("names the weekly one of a key's two full caps if its week ends after the month", () => {
    const cappedKeys = [cap(CI, "month", 10), cap(CI, "week", 10)];
    const nowMs = Date.UTC(2026, 10, 30, 12);
    const notices = listNotices({ ...WELL, nowMs, facts: { ...NOTHING, cappedKeys } });
    expect(notices.map(({ text }) => text)).toEqual([
      "Key “ci” has used up its weekly cap of $10.00: its requests are rejected until it resets on 7 December (UTC).",
    ]);
  });
});
