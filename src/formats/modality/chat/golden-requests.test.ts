import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  buildDeployment,
  readGood,
  send,
  type KnownWire,
} from "../../../../test/fixtures/modality/request-kit.ts";

/* An agent's request of each wire is sent to a deployment of each wire and compared with a file. */

const folders: Readonly<Record<KnownWire, string>> = {
  wire_a: "openai-chat",
  wire_b: "anthropic-messages",
};
const wires = Object.keys(folders) as readonly KnownWire[];

function fixture(wire: KnownWire, name: string): string {
  const url = new URL(`../../wire/${folders[wire]}/fixtures/${name}`, import.meta.url);
  return readFileSync(url, "utf8");
}

test.each(wires.flatMap((client) => wires.map((upstream) => ({ client, upstream }))))(
  "the agent's request from $client for $upstream equals its golden file, in key order too",
  ({ client, upstream }) => {
    const request = readGood(client, fixture(client, "agent.request.json"));
    const { body, dropped } = send(
      request,
      buildDeployment(upstream, { upstreamModelId: "test-1-2026" }),
    );
    const golden = fixture(client, `agent.request.for-${upstream.replace("_", "-")}.json`);
    expect({ dropped, body }).toEqual(JSON.parse(golden));
    // The order of the keys counts too, because providers cache by prefix.
    expect(Object.keys(body)).toEqual(Object.keys((JSON.parse(golden) as { body: object }).body));
  },
);
