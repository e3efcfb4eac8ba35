import { expect, test } from "vitest";

import type { ListingSums } from "../../gateway/records/listing-figures.ts";
import { presentListings } from "./listing-figures-routes.ts";

test("each day of a listing is read a few times, however many listings there are", () => {
  let reads = 0;
  const listings = 50;
  const days = Array.from({ length: listings }, (_, at): ListingSums => {
    return {
      providerId: "lab",
      modelId: `lab/${at}`,
      fromMs: 0,
      succeeded: 1,
      failed: 0,
      usedHours: 1,
      upHours: 1,
      streamed: 0,
      streamedTokens: 0,
      streamedMs: 0,
      get firstBytes() {
        reads += 1;
        return new Map<number, number>();
      },
    };
  });
  const shown = presentListings(days, { hours: [], hasHistory: false, isRounded: false });
  expect(shown).toHaveLength(listings);
  expect(shown[0]).toMatchObject({ model: "lab/0", calls: 1, share_of_calls: 1 / listings });
  expect(reads).toBe(listings);
});
