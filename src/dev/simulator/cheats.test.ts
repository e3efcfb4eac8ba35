import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CHEATS, type Cheat } from "./cheats.ts";
import { readFaults } from "./faults.ts";
import { startSimulator } from "./simulator.ts";

const PAGE = new URL("../../../docs/simulator.md", import.meta.url);
const table: readonly (readonly [name: string, cheat: Cheat])[] = Object.entries(CHEATS);

function rowOf([name, cheat]: readonly [string, Cheat]): string {
  const { does, modalities, check, needs } = cheat;
  const offered = modalities.length === 4 ? "all" : modalities.join(", ");
  const checked = needs === undefined ? check : `${check}, if the listing has ${needs}`;
  return `| \`cheat:${name}\` | ${does} | ${offered} | ${checked} |`;
}

test("the page lists every cheat as the table has it", () => {
  const page = readFileSync(PAGE, "utf8");
  const rows = page.split("\n").filter((line) => /^\| `cheat:[a-z]/.test(line));
  const narrow = rows.map((row) => row.replaceAll(/ +/g, " "));
  expect(narrow).toEqual(table.map(rowOf));
});

test.each(table)("%s is one sentence, and a fault by its name", (name, { does, modalities }) => {
  expect(does).toMatch(/^[A-Z\d].*\.$/);
  expect(modalities.length).toBeGreaterThan(0);
  expect(readFaults(`cheat:${name}`)).toEqual({ kind: "faults", faults: { cheat: [name] } });
});

test("cheats are joined with each other and with other faults", () => {
  const script = "cheat:model-whole;slow:3; cheat:stop-leaked";
  const faults = { cheat: ["model-whole", "stop-leaked"], slow: 3 };
  expect(readFaults(script)).toEqual({ kind: "faults", faults });
});

test.each([["cheat"], ["cheat:"], ["cheat:nothing"], ["cheat:toString"]])(
  "%s is refused, and the message names the cheats",
  (script) => {
    const reading = readFaults(script);
    expect(reading).toMatchObject({ kind: "unknown" });
    expect(JSON.stringify(reading)).toContain("cheats: wrong-key-accepted, redirect,");
  },
);

test("two cheats in one answer are both seen, chosen by an option, a rule or a header", async () => {
  const script = "cheat:model-fake-date;cheat:usage-plus-constant";
  const always = await startSimulator({ port: 0, host: "127.0.0.1", fault: script });
  const honest = await startSimulator({ port: 0, host: "127.0.0.1" });
  honest.script({ model: "ruled", fault: script });
  const ask = async (url: string, model: string, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] });
    const init = { method: "POST", headers, body };
    const response = await fetch(`${url}/v1/chat/completions`, init);
    return await response.json();
  };
  const cheating = (model: string) => ({ model, usage: { prompt_tokens: 102, total_tokens: 105 } });
  expect(await ask(always.url, "m")).toMatchObject(cheating("m-20261399"));
  expect(await ask(honest.url, "ruled")).toMatchObject(cheating("ruled-20261399"));
  const asked = await ask(honest.url, "m", { "x-sim-fault": script });
  expect(asked).toMatchObject(cheating("m-20261399"));
  const plain = { model: "m", usage: { prompt_tokens: 2, total_tokens: 5 } };
  expect(await ask(honest.url, "m")).toMatchObject(plain);
  await Promise.all([always.close(), honest.close()]);
});
