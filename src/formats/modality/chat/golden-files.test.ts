import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../test/support/depth.ts";
import { openStream, play, splitAt } from "../../../../test/fixtures/modality/answer-kit.ts";
import { readLegalWireA } from "../../../../test/fixtures/modality/legal-wire-a.ts";
import { readLegalWireB } from "../../../../test/fixtures/modality/legal-wire-b.ts";
import {
  buildDeployment,
  type KnownWire,
  readGood,
  send,
} from "../../../../test/fixtures/modality/request-kit.ts";

const FOLDERS = {
  wire_a: new URL("../../wire/openai-chat/fixtures/", import.meta.url),
  wire_b: new URL("../../wire/anthropic-messages/fixtures/", import.meta.url),
};
const CLIENTS: readonly KnownWire[] = ["wire_a", "wire_b"];

test.each(CLIENTS.flatMap((client) => CLIENTS.map((upstream) => ({ client, upstream }))))(
  "the agent's request from $client for $upstream equals its golden file, in key order too",
  ({ client, upstream }) => {
    const read = (name: string): string => readFileSync(new URL(name, FOLDERS[client]), "utf8");
    const request = readGood(client, read("agent.request.json"));
    const deployment = buildDeployment(upstream, { upstreamModelId: "test-1-2026" });
    const { body, dropped } = send(request, deployment);
    const recorded = JSON.parse(read(`agent.request.for-${upstream.replace("_", "-")}.json`));
    expect({ dropped, body }).toEqual(recorded);
    // The order of the keys counts too, because providers cache by prefix.
    expect(Object.keys(body)).toEqual(Object.keys(recorded.body));
  },
);

interface Golden {
  readonly upstream: KnownWire;
  readonly client: KnownWire;
  readonly name: string;
  readonly transcript: Buffer;
  readonly expected: string;
}

const goldens: readonly Golden[] = CLIENTS.flatMap((upstream) =>
  readdirSync(FOLDERS[upstream])
    .filter((file) => file.endsWith(".sse"))
    .flatMap((file) => CLIENTS.map((client) => golden(upstream, client, file.slice(0, -4)))),
);

describe.each(goldens)("the stream $name of $upstream for a client of $client", (wires) => {
  const { transcript, expected, client } = wires;

  test("gives exactly the recorded bytes", () => {
    expect(play(openStream(wires), [transcript]).text).toBe(expected);
  });

  test("gives the same bytes wherever the provider's bytes are cut", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 400 });
    fc.assert(
      fc.property(sizes, (cuts) => {
        expect(play(openStream(wires), splitAt(transcript, cuts)).text).toBe(expected);
      }),
      { numRuns: runs(120), examples: [[Array<number>(transcript.length).fill(1)]] },
    );
  });

  test("is complete and legal, and does not name the provider's model", () => {
    expect(expected).not.toContain("up-model");
    const isRelay = wires.upstream === client;
    const isWhole =
      client === "wire_a"
        ? readLegalWireA(expected).isDone
        : isRelay || readLegalWireB(expected).isStopped;
    expect(isWhole).toBe(true);
  });
});

function golden(upstream: KnownWire, client: KnownWire, name: string): Golden {
  const at = (file: string): Buffer => readFileSync(new URL(file, FOLDERS[upstream]));
  const transcript = at(`${name}.sse`);
  const expected = at(`${name}.for-${client.replace("_", "-")}.txt`).toString();
  return { upstream, client, name, transcript, expected };
}
