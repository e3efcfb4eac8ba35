import { answerTo } from "../../../src/dev/simulator/answer.ts";
import { pickObjects } from "../../../src/dev/simulator/json.ts";
import {
  isSaid,
  textOfPart,
  OTHER_MODEL,
  unread,
  rewriteRead,
  asIf,
  calls,
  type TextCheats,
  lastTokens,
} from "./text-effects.ts";

export const CONTENT_CHEATS: TextCheats = {
  /** The arguments of a streamed tool call end in the middle; those of a whole one do not. */
  "tool-arguments-broken-in-stream": [
    "C6",
    {
      when: "stream",
      answer: calls((call) => ({
        arguments: call.arguments.slice(0, Math.floor(call.arguments.length / 2)),
      })),
    },
    "tools",
  ],
  "tool-ids-empty": [
    "C6",
    { json: (text) => text.replaceAll(/"(call|toolu)_[^"]*"/g, '""') },
    "tools",
  ],
  "tool-ids-empty-in-stream": [
    "C6",
    { when: "stream", json: (text) => text.replaceAll(/"(call|toolu)_[^"]*"/g, '""') },
    "tools",
  ],
  "tool-choice-none-ignored": [
    "C6",
    { answer: asIf(({ choice }) => (choice.kind === "none" ? { choice: { kind: "auto" } } : {})) },
    "tools",
  ],
  "tool-choice-named-ignored": [
    "C6",
    {
      answer: asIf(({ choice, tools: [first] }) =>
        choice.kind === "tool" && first ? { choice: { kind: "tool", name: first.name } } : {},
      ),
    },
    "tools",
  ],
  "tool-choice-required-ignored": [
    "C6",
    { answer: asIf(({ choice }) => (choice.kind === "any" ? { choice: { kind: "auto" } } : {})) },
    "tools",
  ],
  "tool-choice-ignored-in-stream": [
    "C6",
    { when: "stream", answer: asIf(() => ({ choice: { kind: "none" } })) },
    "tools",
  ],
  "tool-calls-not-single": ["C6", { answer: asIf(() => ({ parallel: true })) }, "single calls"],
  "tool-arguments-of-another": [
    "C6",
    {
      replay: ({ request }) => (request.choice.kind === "tool" ? "tool" : ""),
    },
    "tools",
  ],
  "tool-value-unknown": [
    "C6",
    { answer: calls((call) => ({ arguments: call.arguments.replace("celsius", "kelvin") })) },
    "tools",
  ],
  "calls-swapped": [
    "C6",
    {
      answer: (answer) => {
        const swapped = answer.calls.map(({ arguments: own }) => own).toReversed();
        return {
          ...answer,
          calls: answer.calls.map((call, at) => ({ ...call, arguments: swapped[at] ?? "" })),
        };
      },
    },
    "single calls",
  ],
  "format-ignored": [
    "C6",
    { request: ({ answerSchema: _schema, ...request }) => request },
    "formats",
  ],
  "format-ignored-in-stream": [
    "C6",
    { when: "stream", request: ({ answerSchema: _schema, ...request }) => request },
    "formats",
  ],
  "format-without-schema": [
    "C6",
    { when: "format", answer: (answer) => ({ ...answer, text: '{"answer":1}' }) },
    "formats",
  ],

  "model-in-stream": ["C7", { when: "stream", model: OTHER_MODEL }],
  "model-whole": ["C7", { when: "whole", model: OTHER_MODEL }],
  "model-once-in-ten": ["C7", { every: 10, model: OTHER_MODEL }],
  "model-fake-date": ["C7", { model: "*-20261399" }],
  "model-with-system": ["C7", { when: "system", model: OTHER_MODEL }],
  "model-with-history": ["C7", { when: "history", model: OTHER_MODEL }],
  "model-with-tools": ["C7", { when: "tools", model: OTHER_MODEL }, "tools"],
  "model-when-long": ["C7", { when: "long", model: OTHER_MODEL }],
  "model-with-others": ["C7", { when: "others", model: OTHER_MODEL }],
  "model-with-system-in-stream": [
    "C7",
    { when: "stream system tools", model: OTHER_MODEL },
    "tools",
  ],
  "model-unnamed-in-stream": [
    "C7",
    { when: "stream", json: (text) => text.replace(/"model":"[^"]*",?/, "") },
  ],

  "bound-ignored": ["C9", { answer: asIf(() => ({ maxTokens: undefined })) }],
  "bound-ignored-in-stream": [
    "C9",
    { when: "stream", answer: asIf(() => ({ maxTokens: undefined })) },
  ],
  "bound-off-by-one": [
    "C9",
    {
      answer: (answer, { request }) => {
        if (answer.finish !== "length" || request.maxTokens === undefined) return answer;
        const longer = answerTo({ ...request, maxTokens: request.maxTokens + 1 });
        return { ...longer, finish: "length", stopSequence: null };
      },
    },
  ],
  "bound-at-least-40": [
    "C9",
    { answer: asIf(({ maxTokens = 40 }) => ({ maxTokens: Math.max(40, maxTokens) })) },
  ],

  "context-truncated": ["C10", { read: lastTokens }],
  "context-truncated-in-stream": ["C10", { when: "stream", read: lastTokens }],
  "middle-dropped": [
    "C10",
    {
      read: rewriteRead("all", (text) =>
        text.length > 4_000
          ? text.slice(0, text.length / 3) + text.slice((2 * text.length) / 3)
          : text,
      ),
    },
  ],
  "middle-dropped-of-1000": [
    "C10",
    {
      read: rewriteRead("all", (text) =>
        text.length > 8_000 ? text.slice(0, 2_000) + text.slice(-2_000) : text,
      ),
    },
  ],
  "image-ignored": [
    "C10",
    {
      request: (request) => ({
        ...request,
        media: request.media.filter(({ kind }) => kind !== "image"),
      }),
    },
    "images in the prompt",
  ],
  "second-image-dropped": [
    "C10",
    {
      request: (request) => {
        const first = request.media.find(({ kind }) => kind === "image");
        return {
          ...request,
          media: request.media.filter((each) => each.kind !== "image" || each === first),
        };
      },
    },
    "images in the prompt",
  ],
  "system-dropped": ["C10", { read: unread("system") }],
  "system-dropped-in-stream": ["C10", { when: "stream", read: unread("system") }],
  "system-cut": ["C10", { read: rewriteRead("system", (text) => text.slice(0, 200)) }],
  "system-dropped-with-tools": ["C10", { when: "tools", read: unread("system") }, "tools"],
  "history-dropped": ["C10", { read: unread("history") }],
  "turns-forgotten": [
    "C10",
    {
      read: (body) => {
        const messages = pickObjects(body["messages"]);
        const said = messages.flatMap(({ role, content }, at) =>
          role === "assistant" && isSaid(content) ? [at] : [],
        );
        if (said.length < 2) return body;
        const from = (said.at(-1) ?? 1) - 1;
        const kept = messages.filter(({ role }, at) => at >= from || role === "system");
        return { ...body, messages: kept };
      },
    },
  ],
  "answers-dropped": ["C10", { read: unread("answers") }],
  "history-cut": ["C10", { read: rewriteRead("history", (text) => text.slice(0, 300)) }],
  "results-dropped": ["C10", { read: unread("results") }, "tools"],
  "results-cut": ["C10", { read: rewriteRead("results", (text) => text.slice(0, 300)) }, "tools"],
  "others-dropped": [
    "C10",
    { read: rewriteRead("all", (text) => text.replaceAll(/[\u0250-\uffff]/g, "")) },
  ],
  "others-as-question-marks": [
    "C10",
    {
      when: "stream",
      read: rewriteRead("all", (text) => text.replaceAll(/[\u0080-\uffff]/g, "?")),
    },
  ],
  "others-lost-in-answer": [
    "C10 and others",
    { answer: (answer) => ({ ...answer, text: answer.text.replaceAll(/[\u0250-\uffff]/g, "") }) },
  ],
  "replayed-by-prefix": [
    "C10 and others",
    { replay: ({ body }) => textOfPart(body, "last").slice(0, 200).padEnd(200) },
  ],
  "replayed-by-long-prefix": [
    "C10 and others",
    {
      replay: ({ body }) =>
        textOfPart(body, "all").length > 1_000 ? textOfPart(body, "all").slice(0, 1_000) : "",
    },
  ],
  "replayed-by-question": [
    "C10 and others",
    {
      replay: ({ body }) =>
        textOfPart(body, "last").length < 120 ? "" : textOfPart(body, "last").slice(-120),
    },
  ],
  "replayed-by-length": [
    "C10 and others",
    {
      when: "stream",
      replay: ({ request }) =>
        request.tools.length > 0 || request.stops.length > 0 ? "" : String(request.promptTokens),
    },
  ],
  "replayed-by-system": [
    "C10 and others",
    { when: "system", replay: ({ body }) => textOfPart(body, "system").slice(0, 100) },
  ],
};
