import * as fc from "fast-check";
import { expect, test } from "vitest";

import {
  BREACH,
  type Breaches,
  Conduct,
  type LiveBreaches,
  type WatchedListing,
} from "./conduct.ts";

const GOOD = 0;
const { substituted: SUBSTITUTED } = BREACH;
const LISTING = listing("lab", "lab/one");

function listing(providerId: string, modelId: string, manifestSha256 = "ab"): WatchedListing {
  return { id: `${providerId}/${modelId}`, providerId, modelId, manifestSha256 };
}

function conductFixture() {
  const found: LiveBreaches[] = [];
  const policy = { badPercent: 1, answersMin: 200 };
  const conduct = new Conduct(policy, (_listing, breaches) => {
    found.push(breaches);
  });
  const note = (times: number, breaches: Breaches, orgId = "org-1"): void => {
    for (let n = 0; n < times; n += 1) conduct.note(LISTING, orgId, breaches);
  };
  return { found, conduct, note };
}

test("a listing is suspect when more than one in a hundred answers break a promise", () => {
  const { found, note } = conductFixture();
  note(298, GOOD);
  note(3, SUBSTITUTED);
  expect(found).toEqual([]);
  note(1, BREACH.usageMissing | BREACH.unreadable);
  expect(found).toEqual([
    {
      answers: 302,
      substituted: 3,
      usageMissing: 1,
      usageImpossible: 0,
      boundExceeded: 0,
      wrongFinish: 0,
      unreadable: 1,
    },
  ]);
});

test.each([
  ["images", "image"],
  ["videos", "video"],
])(
  "ten %s without reported usage make a listing suspect, however many others report it",
  (_what, modality) => {
    const { found, conduct } = conductFixture();
    const images = { ...LISTING, modality };
    for (let n = 0; n < 100; n += 1) conduct.note(images, "org-1", GOOD);
    for (let n = 0; n < 9; n += 1) conduct.note(images, "org-1", BREACH.usageMissing);
    expect(found).toEqual([]);
    conduct.note(images, "org-1", BREACH.usageMissing);
    expect(found).toMatchObject([{ answers: 110, usageMissing: 10 }]);
  },
);

test("images given away to two organizations make a listing suspect, but not those given to one", () => {
  const { found, conduct } = conductFixture();
  const images = { ...LISTING, modality: "image" };
  const note = (times: number, breaches: Breaches, orgId: string): void => {
    for (let n = 0; n < times; n += 1) conduct.note(images, orgId, breaches);
  };
  note(990, GOOD, "other");
  note(30, BREACH.usageMissing, "org-1");
  note(9, BREACH.usageMissing, "org-2");
  expect(found).toEqual([]);
  note(1, BREACH.usageMissing, "org-2");
  expect(found).toMatchObject([{ answers: 1_030, usageMissing: 40 }]);
});

test("a suspicion that could not be stored is raised again by the next bad answer", () => {
  const found: LiveBreaches[] = [];
  const policy = { badPercent: 1, answersMin: 200 };
  const conduct = new Conduct(policy, (_listing, breaches, putBack) => {
    found.push(breaches);
    if (found.length === 1) putBack();
  });
  for (let n = 0; n < 202; n += 1) conduct.note(LISTING, "org-1", SUBSTITUTED);
  expect(found).toMatchObject([{ answers: 200 }, { answers: 201 }]);
});

test("a listing is never suspect below 200 answers", () => {
  const { found, note } = conductFixture();
  note(199, SUBSTITUTED);
  expect(found).toEqual([]);
  note(1, SUBSTITUTED);
  expect(found).toHaveLength(1);
});

test.each<[string, (conduct: Conduct) => void]>([
  ["another model", (conduct) => conduct.note(listing("lab", "lab/two"), "org-1", SUBSTITUTED)],
  ["another provider", (conduct) => conduct.note(listing("a", "lab/one"), "org-1", SUBSTITUTED)],
  [
    "another manifest",
    (conduct) => conduct.note(listing("lab", "lab/one", "cd"), "org-1", SUBSTITUTED),
  ],
  ["the listing after a passed run", (conduct) => conduct.forget(LISTING.id)],
])("bad answers of a listing do not count for %s", (_what, change) => {
  const { found, conduct, note } = conductFixture();
  note(199, SUBSTITUTED);
  change(conduct);
  expect(found).toEqual([]);
  conduct.forget(LISTING.id);
  note(199, GOOD);
  note(1, SUBSTITUTED);
  expect(found).toEqual([]);
});

test("a listing that serves all others well is not made suspect by one organization", () => {
  const { found, note } = conductFixture();
  note(200, GOOD, "other");
  note(700, SUBSTITUTED, "hostile");
  note(200, GOOD, "other");
  note(700, SUBSTITUTED, "hostile");
  expect(found).toEqual([]);
});

test("a listing is suspect if it stays so when the answers to any one organization are left out", () => {
  const { found, note } = conductFixture();
  for (let n = 0; n < 400; n += 1) {
    note(1, GOOD, "org-1");
    note(1, GOOD, "org-2");
    note(1, GOOD, "org-3");
  }
  for (let n = 0; n < 100 && found.length === 0; n += 1) {
    note(1, SUBSTITUTED, `org-${1 + (n % 3)}`);
  }
  const [first] = found;
  // The finding comes as soon as more than 1 % of the about 800 answers to two of the organizations
  // are bad: those to the third, which got the most bad answers, are left out.
  expect(first?.substituted).toBeGreaterThan(12);
  expect(first?.substituted).toBeLessThan(16);
});

test("for any traffic, a listing is suspect unless leaving out one organization would clear it", () => {
  const run = fc.record({
    org: fc.integer({ min: 0, max: 3 }),
    bad: fc.boolean(),
    times: fc.integer({ min: 1, max: 120 }),
  });
  fc.assert(
    fc.property(fc.array(run, { maxLength: 12 }), (runs) => {
      const { found, note } = conductFixture();
      let seen: { org: number; bad: boolean }[] = [];
      let expected = 0;
      for (const { org, bad, times } of runs) {
        for (let n = 0; n < times && seen.length < 999; n += 1) {
          note(1, bad ? SUBSTITUTED : GOOD, `org-${org}`);
          seen.push({ org, bad });
          if (!bad || !isSuspect(seen)) continue;
          expected += 1;
          seen = [];
        }
      }
      expect(found).toHaveLength(expected);
    }),
    { numRuns: 60 },
  );
});

function isSuspect(seen: readonly { org: number; bad: boolean }[]): boolean {
  const isOver = (answers: typeof seen): boolean =>
    answers.length >= 200 && answers.filter(({ bad }) => bad).length * 100 > answers.length;
  const accusers = new Set(seen.filter(({ bad }) => bad).map(({ org }) => org));
  const contradicts = (org: number): boolean => {
    const others = seen.filter((each) => each.org !== org);
    return others.length >= 200 && !isOver(others);
  };
  return isOver(seen) && ![...accusers].some(contradicts);
}
