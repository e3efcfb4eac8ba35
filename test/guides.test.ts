import { readdirSync, readFileSync } from "node:fs";

import { expect, test } from "vitest";

import {
  chosenBlocks,
  isRawKey,
  modelOfGuide,
  readGuideCall,
  rewritten,
  withModel,
} from "../console/src/pages/docs/guide-call.ts";
import { agentSnippets } from "../console/src/snippets/agent-snippets.ts";
import { GUIDES } from "../console/src/pages/docs/guide-list.ts";
import { readBlocks, splitSections } from "../console/src/pages/docs/markdown-blocks.ts";
import { presentJson } from "../console/src/pages/docs/run-guide-call.ts";

const RAW_KEY = "tm_vk_0123456789abcdef";

/** The guides with calls. The guide about webhooks is about requests that its reader gets. */
const CALLED = GUIDES.map(([name]) => name).filter((name) => name !== "webhooks");

function guide(name: string): ReturnType<typeof readBlocks> {
  return readBlocks(readFileSync(`docs/guides/${name}.md`, "utf8"));
}

function curlsOf(name: string): readonly string[] {
  return guide(name).flatMap((block) =>
    block.kind === "code"
      ? block.tabs.flatMap(({ label, code }) => (label === "curl" ? code : []))
      : [],
  );
}

test("every guide is listed on the docs page under its own title", () => {
  expect(GUIDES.map(([name]) => `${name}.md`).toSorted()).toEqual(
    readdirSync("docs/guides").toSorted(),
  );
  for (const [name, title] of GUIDES) {
    const [first] = readFileSync(`docs/guides/${name}.md`, "utf8").split("\n");
    expect(first).toBe(`# ${title}`);
  }
});

test("every guide has code, and no Markdown mark remains in its rendered text", () => {
  for (const [name] of GUIDES) {
    const blocks = guide(name);
    const kinds = new Set(blocks.map(({ kind }) => kind));
    expect(kinds, name).toContain("code");
    const texts = blocks.flatMap((block) => (block.kind === "text" ? [block.text] : []));
    expect(texts.filter((text) => /^(#|\||- |```|>)/.test(text))).toEqual([]);
  }
});

test("a guide's Markdown becomes headings, code with tabs, text, lists and tables", () => {
  const text =
    "# T\n\n```sh\ncurl\n```\n\n```python\nb\n```\n\nwords\n\n- one\n- two\n  more\n\n| A | B |\n| - | - |\n| `x` | y |\n";
  expect(readBlocks(text)).toEqual([
    { kind: "heading", level: 1, text: "T" },
    {
      kind: "code",
      tabs: [
        { label: "curl", code: "curl" },
        { label: "Python", code: "b" },
      ],
    },
    { kind: "text", text: "words" },
    { kind: "list", items: ["one", "two more"] },
    { kind: "table", head: ["A", "B"], rows: [["`x`", "y"]] },
  ]);
});

test("the search of the docs finds a section for each heading of a guide, and none for a comment in its code", () => {
  for (const [name] of GUIDES) {
    const text = readFileSync(`docs/guides/${name}.md`, "utf8");
    const [before, ...sections] = splitSections(text);
    expect(before).toBe("");
    expect(sections.join("")).toBe(text);
    const headings = guide(name).flatMap((block) => (block.kind === "heading" ? [block.text] : []));
    const firsts = sections.map((section) => section.split("\n")[0]);
    expect(firsts.map((line) => line?.replace(/^#+ /, ""))).toEqual(headings);
  }
});

test("every guide with calls has a request that its page can run", () => {
  for (const name of CALLED) {
    const calls = curlsOf(name).map(readGuideCall);
    expect(calls.filter((call) => call !== undefined).length, name).toBeGreaterThan(0);
  }
});

test("a guide's page runs the request that its code shows", () => {
  const [curl = ""] = curlsOf("decisions");
  expect(readGuideCall(curl)).toMatchObject({
    method: "POST",
    path: "/decisions",
    modelId: "sim/decide",
    quotedAs: "decisions",
    body: { state: { plan: "enterprise" } },
  });
  const [limits = ""] = curlsOf("limits");
  expect(readGuideCall(limits)).toEqual({
    method: "GET",
    path: "/limits?model=sim/both",
    modelId: "sim/both",
    quotedAs: undefined,
  });
});

test("a chosen model replaces the guide's model in the call and in the shown curl command", () => {
  const [curl = ""] = curlsOf("streaming");
  const call = readGuideCall(curl);
  if (call === undefined) throw new Error("the guide has a call");
  const other = withModel(call, "open/other");
  expect(other.body).toMatchObject({ model: "open/other", stream: true });
  const code = rewritten(curl, { model: { from: "sim/both", to: "open/other" } });
  expect(readGuideCall(code)).toEqual(other);
  const [limits = ""] = curlsOf("limits");
  const asked = readGuideCall(limits);
  expect(asked && withModel(asked, "a/b").path).toBe("/limits?model=a%2Fb");
});

test("a code block with several commands, broken JSON or a shell variable is not run", () => {
  const good = `curl -s http://h/v1/x -d '{"model":"a"}'`;
  expect(readGuideCall(good)).toBeDefined();
  expect(readGuideCall(`${good}\n${good}`)).toBeUndefined();
  expect(readGuideCall(`curl -s http://h/v1/x -d '{"model":'`)).toBeUndefined();
  expect(readGuideCall("curl -s http://h/v1/videos/$ID")).toBeUndefined();
  expect(readGuideCall("export A=1")).toBeUndefined();
});

test("a file in an answer is shortened where it is shown", () => {
  const shown = presentJson(JSON.stringify({ data: [{ b64_json: "A".repeat(100_000) }] }));
  expect(shown.length).toBeLessThan(1_000);
  expect(shown).toContain("(100000 characters)");
});

test("a pasted key is written into shell code only", () => {
  for (const name of CALLED) {
    const chosen = chosenBlocks(guide(name), { model: undefined, rawKey: RAW_KEY });
    const tabs = chosen.flatMap(({ block }) => (block.kind === "code" ? block.tabs : []));
    const isShell = ({ label }: { readonly label: string }): boolean =>
      label === "curl" || label === "Shell";
    const shell = JSON.stringify(tabs.filter(isShell));
    expect(shell).not.toContain("$TOKEN_MARKET_KEY");
    expect(shell).toContain(RAW_KEY);
    const texts = chosen.filter(({ block }) => block.kind !== "code");
    const others = [tabs.filter((tab) => !isShell(tab)), texts, chosen.map(({ call }) => call)];
    // The page runs a call with the session of the signed-in user, never with a key.
    expect(JSON.stringify(others)).not.toContain(RAW_KEY);
  }
});

test("a chosen model replaces the guide's own model in the shown code and in the call that runs", () => {
  const blocks = guide("images");
  const own = modelOfGuide(blocks);
  expect(own).toEqual({ modelId: "sim/image", modality: "image" });
  const model = { from: "sim/image", to: "open/painter" };
  const chosen = chosenBlocks(blocks, { model, rawKey: "" });
  expect(JSON.stringify(chosen)).not.toContain("sim/image");
  expect(chosen.find(({ call }) => call !== undefined)?.call?.modelId).toBe("open/painter");
});

test("the unlisted model with which a guide shows a refusal is not replaced", () => {
  const model = { from: "sim/both", to: "open/other" };
  const chosen = chosenBlocks(guide("errors"), { model, rawKey: "" });
  const ids = chosen.flatMap(({ call }) => call?.modelId ?? []);
  expect(ids).toContain("no/such-model");
});

test("only the format of a virtual key is accepted as a pasted key", () => {
  expect(isRawKey(RAW_KEY)).toBe(true);
  const others = ["", "sk-123456789", "tm_vk_short", "tm_vk_01234567$(id)", "tm_vk_01234567 x"];
  expect(others.filter(isRawKey)).toEqual([]);
});

test("Claude Code gets the same variables from the welcome page, the guide and the example", () => {
  const [claude] = agentSnippets({ gatewayUrl: "http://h", modelId: "sim/both", secret: "k" });
  const variablesOf = (text: string): string[] =>
    [...text.matchAll(/\b(?:ANTHROPIC|CLAUDE_CODE|MAX_THINKING)_[A-Z_]+(?==)/g)].map(
      ([name]) => name,
    );
  const welcome = variablesOf(claude?.code ?? "");
  const guideText = readFileSync("docs/guides/coding-agents.md", "utf8");
  const example = readFileSync("examples/coding-agents/README.md", "utf8");
  // The guide names the model once for all commands, the other two in the command.
  expect(variablesOf(guideText).toSorted()).toEqual([...welcome, "ANTHROPIC_MODEL"].toSorted());
  expect(variablesOf(example)).toEqual(expect.arrayContaining(welcome));
});

test("opencode gets the same file from the welcome page and the guide", () => {
  const [, open] = agentSnippets({ gatewayUrl: "http://127.0.0.1:8080", modelId: "sim/both" });
  const [, printed = ""] = /<<'END'\n([^]*)\nEND/.exec(open?.code ?? "") ?? [];
  const guideText = readFileSync("docs/guides/coding-agents.md", "utf8");
  const [, written = ""] = /^`(\{.*\})`$/m.exec(guideText) ?? [];
  expect(JSON.parse(written)).toEqual(JSON.parse(printed));
});
