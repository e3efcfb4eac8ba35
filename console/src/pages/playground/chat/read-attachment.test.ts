import { expect, test } from "vitest";

import { acceptedTypes, attachmentProblem } from "./read-attachment.ts";

const png = { name: "a.png", type: "image/png", size: 1_000 };

test("a file of a kind that the models do not take is refused by its name", () => {
  expect(attachmentProblem([png], [], ["image"])).toBeUndefined();
  expect(attachmentProblem([png], [], ["file"])).toMatch(/like a\.png/);
  expect(attachmentProblem([{ ...png, type: "text/html" }], [], ["image", "file"])).toMatch(
    /do not accept/,
  );
});

test("files are bounded in number and in bytes, those attached before included", () => {
  const attached = { kind: "image", name: "b", dataUrl: "x".repeat(4_000_000) } as const;
  expect(attachmentProblem([{ ...png, size: 2_900_000 }], [attached], ["image"])).toBeUndefined();
  expect(attachmentProblem([{ ...png, size: 3_100_000 }], [attached], ["image"])).toMatch(/6 MB/);
  expect(
    attachmentProblem(
      Array.from({ length: 9 }, () => png),
      [],
      ["image"],
    ),
  ).toMatch(/8 files/);
});

test("the file dialog offers the types of the declared kinds only", () => {
  expect(acceptedTypes(["file"])).toBe("application/pdf");
  expect(acceptedTypes([])).toBe("");
});
