import { expect, test } from "vitest";

import { sendAcross, sendSame } from "../../../../test/fixtures/modality/request-kit.ts";

const call = (more: object): object => ({
  id: "c1",
  type: "function",
  function: { name: "f", arguments: '{"a":1}', ...more },
});
const history = (answer: object, more: object): object[] => [
  { role: "user", content: "hi" },
  { role: "assistant", content: "x", ...answer, tool_calls: [call(more)] },
  { role: "tool", tool_call_id: "c1", content: "1" },
];
const plain = history({}, {});

// Helpers of the official clients send their parsed copies of an answer back with the history.
test.each([
  ["parsed with a value", history({ parsed: { a: { b: [1] } } }, {})],
  ["parsed_arguments", history({}, { parsed_arguments: { a: 1 } })],
])("a client's own copy of an answer reaches no provider: %s", (_name, messages) => {
  const { body, dropped } = sendSame("wire_a", { messages });
  expect(body["messages"]).toEqual(plain);
  expect(dropped).toEqual([]);
  expect(sendAcross("wire_a", { messages }).text).not.toContain("parsed");
});

test("a tool's name that is repeated outside its function is removed there", () => {
  const fn = { name: "f", parameters: { type: "object" } };
  const tool = { type: "function", function: fn };
  const custom = { type: "custom", name: "g" };
  const { body, dropped } = sendSame("wire_a", { tools: [{ name: "f", ...tool }, custom] });
  expect(body["tools"]).toEqual([tool, custom]);
  expect(dropped).toEqual([]);
});
