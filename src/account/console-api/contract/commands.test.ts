import { describe, expect, test } from "vitest";

import { compileCheck } from "../check-schema.ts";
import { COMMANDS } from "./commands.ts";

describe("the pace of an endpoint", () => {
  const check = compileCheck(COMMANDS["endpoint add"].body, "body");
  const paced = (pace: string): unknown => check({ provider_id: "a", paced_per_second: pace });

  test.each(["2.5", "0.001", "10", "999999999"])("%s is accepted", (pace) => {
    expect(paced(pace)).toBeUndefined();
  });

  test.each(["0", "0.0", "0.0001", "-1", "1000000000", "1.", ".5", "1e1", "Infinity", ""])(
    "%j is refused",
    (pace) => {
      expect(paced(pace)).toMatchObject({
        field: "paced_per_second",
        message: expect.stringContaining("paced_per_second must be a number above 0"),
      });
    },
  );
});
