import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../test/support/depth.ts";
import {
  toBytes,
  chatFor,
  buildDeployment,
  encode,
  otherWire,
  readBody,
  type KnownWire,
} from "../../../../test/fixtures/modality/request-kit.ts";

/*
 * Mutates a few bytes of real requests. If a mutated request is accepted, the provider must get it
 * with the same meaning.
 */

const bodies = (["wire_a", "wire_b"] as const).map((wire) => {
  const folder = wire === "wire_a" ? "openai-chat" : "anthropic-messages";
  const url = new URL(`../../wire/${folder}/fixtures/agent.request.json`, import.meta.url);
  return { wire, bytes: readFileSync(url) };
});

const piece = fc.oneof(
  fc.constantFrom("", " ", '"', "1", "null", "{}", "[]", ",", "true", "\\u0061"),
  fc.constantFrom('"x":1,', '"max_tokens":900,'),
);
const change = fc.record({ at: fc.nat(), cut: fc.nat(12), text: piece });

interface Change {
  readonly at: number;
  readonly cut: number;
  readonly text: string;
}

function changed(bytes: Buffer, changes: readonly Change[]): Buffer {
  let body = bytes;
  for (const { at, cut, text } of changes) {
    const from = at % body.length;
    body = Buffer.concat([body.subarray(0, from), Buffer.from(text), body.subarray(from + cut)]);
  }
  return body;
}

/** Returns the parsed body with the edits that the gateway makes. */
function expectedBody(wire: KnownWire, body: Buffer, outputTokens: number): unknown {
  const fields = JSON.parse(body.toString()) as Record<string, unknown>;
  for (const name of ["provider", "route", "models", "transforms"]) delete fields[name];
  const plain = fields["max_tokens"];
  // The listing declares neither name of the output bound, so only `max_tokens` is sent.
  delete fields["max_completion_tokens"];
  const options = fields["stream_options"] as object | null | undefined;
  const asks = wire === "wire_a" && fields["stream"] === true;
  return {
    ...fields,
    model: "upstream-1",
    max_tokens: plain ?? outputTokens,
    ...(asks && { stream_options: { ...options, include_usage: true } }),
  };
}

test.each(bodies)("a mutated $wire request is refused or keeps its meaning", ({ wire, bytes }) => {
  const deployment = buildDeployment(wire, { upstreamModelId: "upstream-1" });
  let taken = 0;
  fc.assert(
    fc.property(fc.array(change, { maxLength: 2 }), (changes) => {
      const body = changed(bytes, changes);
      const read = readBody(wire, body);
      if (!read.ok) return read.refusal.status === 400 && read.refusal.message.length > 10;
      taken += 1;
      const { request } = read;
      const sent = JSON.parse(toBytes(encode(request, deployment).body).toString()) as unknown;
      expect(sent).toEqual(expectedBody(wire, body, request.outputTokens));
      return true;
    }),
    { numRuns: runs(3000) },
  );
  expect(taken).toBeGreaterThan(100);
});

test.each(bodies)("a mutated $wire request is translated into a valid one", ({ wire, bytes }) => {
  const target = otherWire(wire);
  const deployment = buildDeployment(target);
  fc.assert(
    fc.property(fc.array(change, { maxLength: 2 }), (changes) => {
      const read = readBody(wire, changed(bytes, changes));
      if (!read.ok) return;
      const { request } = read;
      if (chatFor(request).servabilityProblem(request, deployment) !== undefined) return;
      const again = readBody(target, toBytes(encode(request, deployment).body));
      expect(again.ok ? "taken" : again.refusal.message).toBe("taken");
    }),
    { numRuns: runs(3000) },
  );
});
