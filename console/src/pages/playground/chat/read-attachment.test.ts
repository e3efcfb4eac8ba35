import { expect, test } from "vitest";

import {
  acceptedTypes,
  attachmentProblem,
  type Decode,
  readAttachment,
  untakenProblem,
} from "./read-attachment.ts";

const png = { name: "a.png", type: "image/png", size: 1_000 };
const nothing = { attached: [], sent: [] };
const large = { kind: "image", name: "b", dataUrl: "x".repeat(4_000_000) } as const;

test("a file of an unsupported kind is refused with its name and the supported kinds", () => {
  expect(attachmentProblem([png], nothing, ["image"])).toBeUndefined();
  expect(attachmentProblem([png], nothing, ["file"])).toBe(
    "a.png cannot be attached. The selected models accept PDF files.",
  );
  const page = { ...png, name: "a.html", type: "text/html" };
  expect(attachmentProblem([png, page], nothing, ["image", "file"])).toMatch(/^a\.html cannot/);
});

test("an empty file is refused with its name", () => {
  expect(attachmentProblem([{ ...png, size: 0 }], nothing, ["image"])).toBe(
    "a.png is empty. Choose another file.",
  );
});

test("files are limited in number and total size, including those already attached", () => {
  const before = { ...nothing, attached: [large] };
  expect(attachmentProblem([{ ...png, size: 2_900_000 }], before, ["image"])).toBeUndefined();
  expect(attachmentProblem([{ ...png, size: 3_100_000 }], before, ["image"])).toBe(
    "Attachments would be 6.1 MB in total, and at most 6 MB can be sent. Choose smaller files.",
  );
  const nine = Array.from({ length: 9 }, () => png);
  expect(attachmentProblem(nine, nothing, ["image"])).toMatch(/at most 8 files/);
});

test("files of earlier messages count toward the total size", () => {
  const before = { ...nothing, sent: [large] };
  expect(attachmentProblem([{ ...png, size: 2_900_000 }], before, ["image"])).toBeUndefined();
  expect(attachmentProblem([{ ...png, size: 3_100_000 }], before, ["image"])).toMatch(
    /start a new conversation/,
  );
});

test("a damaged image and one with too many pixels are refused", async () => {
  const file = new File(["text"], "cat.png", { type: "image/png" });
  const is =
    (width: number, height: number): Decode =>
    async () => ({ width, height });
  expect(await readAttachment(file, () => Promise.reject(new Error("no image")))).toMatch(
    /^cat\.png is damaged or not an image\./,
  );
  expect(await readAttachment(file, is(12_000, 10))).toMatch(
    /^cat\.png is 12,000 by 10 pixels, and models accept at most 8,000 on a side\./,
  );
  expect(await readAttachment(file, is(10, 8_001))).toMatch(/8,001 pixels/);
});

test("a model that does not accept a file of the conversation is reported with the file's name", () => {
  const image = { kind: "image", name: "cat.png", dataUrl: "" } as const;
  const turns = [{ attachments: [] }, { attachments: [image] }];
  const model = (...kinds: string[]) => ({ name: "Plain", input_modalities: kinds });
  expect(untakenProblem(model("text"), turns)).toBe(
    "Plain does not accept images, and this conversation has cat.png. Choose another model or start a new conversation.",
  );
  expect(untakenProblem(model("text", "image"), turns)).toBeUndefined();
  expect(untakenProblem(model("text"), [{ attachments: [] }])).toBeUndefined();
});

test("the file dialog offers only the types of the accepted kinds of files", () => {
  expect(acceptedTypes(["file"])).toBe("application/pdf");
  expect(acceptedTypes([])).toBe("");
});
