import { expect, test } from "vitest";
import { readForm, textAt, textsAt } from "./form-body.ts";

test("brackets in names make fields of fields", () => {
  const form = readForm(
    "mode=payment&line_items[0][price_data][unit_amount]=500&metadata[a]=b%26c",
  );
  expect(textAt(form, "mode")).toBe("payment");
  expect(textAt(form, "line_items", "0", "price_data", "unit_amount")).toBe("500");
  expect(textsAt(form, "metadata")).toEqual({ a: "b&c" });
  expect(textAt(form, "metadata")).toBeUndefined();
  expect(textsAt(form, "mode")).toEqual({});
});

test("names that mean something to the language are names like others", () => {
  const form = readForm(
    "__proto__[polluted]=1&constructor[prototype][polluted]=1&a[__proto__][b]=2",
  );
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(textAt(form, "__proto__", "polluted")).toBe("1");
  expect(textAt(form, "a", "__proto__", "b")).toBe("2");
});

test("names deeper than any that is used are left out", () => {
  const form = readForm(`a${"[b]".repeat(5_000)}=1&c=2`);
  expect(form).toEqual(Object.assign(Object.create(null), { c: "2" }));
});
