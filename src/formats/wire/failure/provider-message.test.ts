import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cleanProviderMessage } from "./provider-message.ts";

const OVERFLOW = "prompt is too long: 208310 tokens > 200000 maximum";
test.each([
  ["key sk-proj-abcdef0123456789 is over 5 tokens", "key [removed] is over 5 tokens"],
  ["see https://api.example.com/x?key=1 for 5 tokens", "see [removed] for 5 tokens"],
  ["see docs.example.com/limits for 5 tokens", "see [removed] for 5 tokens"],
  ["request req_011CSHoEeqs5C35K2UUqR7Fy has 5 tokens", "request [removed] has 5 tokens"],
  ["org-AbCdEf123456 sent 5 tokens", "[removed] sent 5 tokens"],
  ["id 01934b2c-7f00-7abc-8def-0123456789ab has 5 tokens", "id [removed] has 5 tokens"],
  ["write to help@example.org about 5 tokens", "write to [removed] about 5 tokens"],
  ["Bearer abc.def has 5 tokens", "[removed] has 5 tokens"],
  ["host 10.1.2.3:8080 has 5 tokens", "host [removed] has 5 tokens"],
  ["host 203.0.113.9 has 5 tokens", "host [removed] has 5 tokens"],
  ["host [fd00::1]:80 and fe80::1 have 5", "host [removed] and [removed] have 5"],
  ["host ::1 has 5", "host [removed] has 5"],
  ["arn:aws:bedrock:us-east-1:123456789012:model/x is over 5", "[removed] is over 5"],
  ["worker vllm-0.vllm.prod.svc.cluster.local has 5", "worker [removed] has 5"],
  ["worker gpu-7.internal and db.corp:5432 have 5", "worker [removed] and [removed] have 5"],
  ["worker ip-10-0-3-7 and localhost:8000 have 5", "worker [removed] and [removed] have 5"],
  ["account 123456789012 has 5 tokens", "account [removed] has 5 tokens"],
  ["version 1.2.3 of 200000 tokens at 12:30:05", "version 1.2.3 of 200000 tokens at 12:30:05"],
  ["messages.0.content.1.text: std::vector of 5", "messages.0.content.1.text: std::vector of 5"],
  ["a\u0000b\nc\u202Ed 5", "a b c d 5"],
  [OVERFLOW, OVERFLOW],
  ["password: swordfish has 5 tokens", "password [removed] has 5 tokens"],
  ["the api key is Ab3dEf9h of 5 tokens", "the api key [removed] of 5 tokens"],
  ['token="a1b2c3d4" of 5', 'token [removed]" of 5'],
  ["token: 208310, max token is 4096", "token: 208310, max token is 4096"],
  ["the secret key is required for token use", "the secret key is required for token use"],
  ["hf_aBcDeF1234 and eyJhbGciOi.eyJz.x-Y have 5", "[removed] and [removed] have 5"],
  ["Basic dXNlcjpwYXNz= has 5, a basic authentication", "[removed] has 5, a basic authentication"],
  ["file /opt/vllm/engine/core.py has 5 tokens/min", "file [removed] has 5 tokens/min"],
  ["file ~/models/x and C:\\run\\a.exe and/or 5", "file [removed] and [removed] and/or 5"],
  ["scheduler.py:123 at /messages/0/content is 5", "[removed] at /messages/0/content is 5"],
  ["i-0abc1234def567890 and vllm-7d9f8b6c5d-x2k4q have 5", "[removed] and [removed] have 5"],
  ["container 3f2a9c1b7d4e, worker gpu-17 has 5", "container [removed], worker [removed] has 5"],
  ["model claude-sonnet-4-20250514 has 5 tokens", "model claude-sonnet-4-20250514 has 5 tokens"],
  [" \n ", "the prompt does not fit the context window of the model"],
  ["One. Two. Three.", "One."],
  ["Limit is 1.5 million. More.", "Limit is 1.5 million."],
])("%j is quoted as %j", (errorText, clean) => {
  expect(cleanProviderMessage(errorText)).toBe(clean);
});

test("secrets of every known form are removed however often repeated, and 1 MB is cleaned in 10 s", () => {
  const hidden = fc.stringMatching(/^[a-z]{6}[0-9]{4}[a-z]{4}$/);
  const forms: readonly ((secret: string) => string)[] = [
    (secret) => `password=${secret}`,
    (secret) => `"token": "${secret}"`,
    (secret) => `/srv/${secret}/weights`,
    (secret) => `pod ${secret}`,
    (secret) => `Bearer ${secret}`,
    (secret) => `hf_${secret}`,
    (secret) => `sk-${secret}`,
  ];
  const gap = fc.constantFrom(" ", ", ", " and ", "; ");
  const pieces = fc.array(gap, { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(hidden, fc.constantFrom(...forms), pieces, (secret, form, between) => {
      const text = between.map((piece) => form(secret) + piece).join("");
      expect(cleanProviderMessage(`${text} 5 tokens`)).not.toContain(secret);
    }),
  );
  const pumped =
    "password|password:|/a|a-|a.|0a|pod |::|eyJ|i-0|\\|1.|a@|~/|token is |ab-bcdfgh-".split("|");
  for (const piece of pumped) {
    const text = piece.repeat(1_000_000 / piece.length);
    const startedMs = performance.now();
    cleanProviderMessage(text);
    expect(performance.now() - startedMs, piece).toBeLessThan(10_000);
  }
});
