import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonProgress } from "./json-progress.ts";

function feed(fragments: readonly string[]): { taken: string; isWhole: boolean } {
  const progress = new JsonProgress();
  const taken = fragments.map((fragment) => progress.accept(fragment)).join("");
  return { taken, isWhole: progress.isWhole };
}

test("an object becomes whole with its last brace, in whatever fragments it arrives", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value);
      const starts = Array.from(text, (_, at) => text.slice(0, at));
      expect(starts.filter((start) => feed([start]).isWhole)).toEqual([]);
      expect(feed(text.split(""))).toEqual({ taken: text, isWhole: true });
    }),
  );
});

test("text after a whole object is not accepted, because some servers send all of it again", () => {
  expect(feed(['{"a":', "1}", '{"a":1}', " "])).toEqual({ taken: '{"a":1}', isWhole: true });
});

test("text that is not an object never counts as whole", () => {
  for (const text of ["", "7", "[]", '"{}"', "}{}", "null"]) {
    expect(feed([text])).toEqual({ taken: text, isWhole: false });
  }
});
