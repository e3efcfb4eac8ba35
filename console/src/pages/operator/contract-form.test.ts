import { expect, test } from "vitest";

import { readContractForm, stillWrong, type ContractForm } from "./contract-form.ts";

const BLANK: ContractForm = { scope: "org", target: "", rpm: "", tpm: "", concurrency: "" };

test("a blank field keeps its limit, “default” removes it, and a number replaces it", () => {
  const typed = { ...BLANK, rpm: " 900 ", tpm: "Default" };
  expect(readContractForm(typed)).toEqual({
    isReady: true,
    body: { scope: "org", rpm: 900, tpm: null },
  });
});

test("the scope decides whether the target is sent as a key, as a model, or not at all", () => {
  const key = readContractForm({ ...BLANK, scope: "key", target: "key_1", rpm: "5" });
  expect(key).toMatchObject({ body: { scope: "key", key_id: "key_1", rpm: 5 } });
  const each = readContractForm({ ...BLANK, scope: "key", rpm: "5" });
  expect(each).toEqual({ isReady: true, body: { scope: "key", rpm: 5 } });
  const org = readContractForm({ ...BLANK, target: "key_1", rpm: "5" });
  expect(org).toEqual({ isReady: true, body: { scope: "org", rpm: 5 } });
  const model = readContractForm({ ...BLANK, scope: "model", target: "acme/a", tpm: "7" });
  expect(model).toMatchObject({ body: { scope: "model", model: "acme/a", tpm: 7 } });
});

test("any limit solves that none was set, and another scope that the target is missing", () => {
  const read = readContractForm({ ...BLANK, scope: "model" });
  const problems: Parameters<typeof stillWrong>[0] = read.isReady ? {} : read.problems;
  expect(Object.keys(problems)).toEqual(["target", "rpm"]);
  expect(stillWrong(problems, { tpm: "5" })).toEqual({ target: problems.target });
  expect(stillWrong(problems, { scope: "org" })).toEqual({ rpm: problems.rpm });
  const wrong = { rpm: "a", tpm: "b" };
  expect(stillWrong(wrong, { tpm: "5" })).toEqual({ rpm: "a" });
});

test.each([
  [{ ...BLANK }, "rpm"],
  [{ ...BLANK, rpm: "0" }, "rpm"],
  [{ ...BLANK, tpm: "1.5" }, "tpm"],
  [{ ...BLANK, concurrency: "1e3" }, "concurrency"],
  [{ ...BLANK, rpm: "2000000000" }, "rpm"],
  [{ ...BLANK, scope: "model" as const, rpm: "5" }, "target"],
])("the form %o is refused at the field %s", (typed, field) => {
  const read = readContractForm(typed);
  expect(read.isReady ? [] : Object.keys(read.problems)).toEqual([field]);
});
