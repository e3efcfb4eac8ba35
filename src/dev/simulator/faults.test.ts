import { expect, test } from "vitest";
import { readFaults } from "./faults.ts";

test.each([
  ["", {}],
  ["refuse", { refuse: true }],
  ["status:429;retry_after:300", { status: 429, retry_after: "300" }],
  ["reset:headers", { reset: { at: "headers", count: 0 } }],
  ["reset:event:3", { reset: { at: "event", count: 3 } }],
  ["reset:body:0", { reset: { at: "body", count: 0 } }],
  ["hold", { hold: { at: "accept", count: 0 } }],
  ["hold:event:6", { hold: { at: "event", count: 6 } }],
  ["hang:body", { hang: { at: "body", count: 0 } }],
  ["hang:event:2", { hang: { at: "event", count: 2 } }],
  ["wrong_length:-5", { wrong_length: -5 }],
  ["model_echo:a:b", { model_echo: "a:b" }],
  ['usage:{"prompt_tokens":7,"x":1}', { usage: { prompt_tokens: 7, x: 1 } }],
  ["content_type:text/html ; body:html", { content_type: "text/html", body: "html" }],
  ['image:{"count":2,"cost":0.02};chunked', { image: { count: 2, cost: "0.02" }, chunked: true }],
  [
    'job:{"states":["queued"],"poll":"status:503;slow:2"}',
    {
      job: { states: ["queued"], poll: "status:503;slow:2" },
    },
  ],
  ['envelope:{"code":3036,"success":false}', { envelope: { code: 3036, success: false } }],
  ["jitter:300;slow_start:3000", { jitter: 300, slow_start: 3_000 }],
  ["missing_answer", { missing_answer: "" }],
  ["redirect:private;bad_json", { redirect: "private", bad_json: true }],
  ['usage:{"a":"x;y"};slow:3', { usage: { a: "x;y" }, slow: 3 }],
])("%j is understood", (script, faults) => {
  expect(readFaults(script)).toEqual({ kind: "faults", faults });
});

test.each([
  ["explode"],
  ["status:99"],
  ["status"],
  ["refuse:now"],
  ["reset:event"],
  ["usage:{"],
  ["jitter:-1"],
  ["slow_start"],
  ["__proto__:1"],
  ['image:{"counts":2}'],
  ['image:{"count":-1}'],
  ['job:{"poll":"explode"}'],
  ['job:{"never":false}'],
  ['envelope:{"status":99}'],
  ['job:{"states":["queued"}'],
  ["redirect:ftp://x"],
])("%j is refused, and the message names it", (script) => {
  const reading = readFaults(script);
  expect(reading).toMatchObject({ kind: "unknown" });
  expect(JSON.stringify(reading)).toContain("known: refuse");
});
