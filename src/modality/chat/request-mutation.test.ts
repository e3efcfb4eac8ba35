import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import type { WireId } from "../../catalog/catalog.ts";
import { deploymentOf, encode, otherWire, readBody } from "../fixtures/request-kit.ts";
import { chatWires } from "./registry.ts";

/* Real requests with a few bytes changed: what is taken must reach the provider with its meaning. */

const bodies = (["wire_a", "wire_b"] as const).map((wire) => {
  const folder = wire === "wire_a" ? "openai-chat" : "anthropic-messages";
  const url = new URL(`../../wire/${folder}/fixtures/agent.request.json`, import.meta.url);
  return { wire, bytes: readFileSync(url) };
});

const change = fc.record({
  at: fc.nat(),
  cut: fc.nat(12),
  text: fc.constantFrom(
    "",
    " ",
    '"',
    "1",
    "null",
    "{}",
    "[]",
    ",",
    '"x":1,',
    "\\u0061",
    "true",
    '"max_tokens":900,',
  ),
});

function changed(
  bytes: Buffer,
  changes: readonly { at: number; cut: number; text: string }[],
): Buffer {
  let body = bytes;
  for (const { at, cut, text } of changes) {
    const from = at % body.length;
    body = Buffer.concat([body.subarray(0, from), Buffer.from(text), body.subarray(from + cut)]);
  }
  return body;
}

function isSent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The same edits made on the parsed body. */
function expectedBody(wire: WireId, body: Buffer, outputTokens: number): unknown {
  const fields = JSON.parse(body.toString()) as Record<string, unknown>;
  for (const name of ["provider", "route", "models", "transforms"]) delete fields[name];
  const plain = fields["max_tokens"];
  // The listing declares neither name.
  delete fields["max_completion_tokens"];
  const options = fields["stream_options"] as object | null | undefined;
  const asks = wire === "wire_a" && fields["stream"] === true;
  return {
    ...fields,
    model: "upstream-1",
    ...(!isSent(plain) && { max_tokens: outputTokens }),
    ...(asks && { stream_options: { ...options, include_usage: true } }),
  };
}

test.each(bodies)(
  "a changed $wire request is refused, or spliced like its parsed form",
  (golden) => {
    const { wire, bytes } = golden;
    const deployment = deploymentOf(wire, { upstreamModelId: "upstream-1" });
    let taken = 0;
    fc.assert(
      fc.property(fc.array(change, { maxLength: 2 }), (changes) => {
        const body = changed(bytes, changes);
        const read = readBody(wire, body);
        if ("class" in read) return read.status === 400 && read.message.length > 10;
        taken += 1;
        const sent = JSON.parse(encode(read, deployment).body.toString()) as unknown;
        expect(sent).toEqual(expectedBody(wire, body, read.outputTokens));
        return true;
      }),
      { numRuns: runs(3000) },
    );
    expect(taken).toBeGreaterThan(100);
  },
);

test.each(bodies)(
  "a changed $wire request that may be translated becomes JSON of the other wire",
  (golden) => {
    const { wire, bytes } = golden;
    const target = otherWire(wire);
    const deployment = deploymentOf(target);
    fc.assert(
      fc.property(fc.array(change, { maxLength: 2 }), (changes) => {
        const read = readBody(wire, changed(bytes, changes));
        if ("class" in read || chatWires.whyUnservable(read, deployment) !== undefined) return;
        const again = readBody(target, encode(read, deployment).body);
        expect("class" in again ? again.message : "taken").toBe("taken");
      }),
      { numRuns: runs(3000) },
    );
  },
);
