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
  "tool-arguments-broken-in-stream": [
    "C6",
    "The arguments of a streamed tool call end in their middle; those of a whole one do not.",
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
    "Calls have no ids.",
    { json: (text) => text.replaceAll(/"(call|toolu)_[^"]*"/g, '""') },
    "tools",
  ],
  "tool-ids-empty-in-stream": [
    "C6",
    "Calls have no ids in streams.",
    { when: "stream", json: (text) => text.replaceAll(/"(call|toolu)_[^"]*"/g, '""') },
    "tools",
  ],
  "tool-choice-none-ignored": [
    "C6",
    "A tool is called although no call is allowed.",
    { answer: asIf(({ choice }) => (choice.kind === "none" ? { choice: { kind: "auto" } } : {})) },
    "tools",
  ],
  "tool-choice-named-ignored": [
    "C6",
    "The first tool is called, whichever is named.",
    {
      answer: asIf(({ choice, tools: [first] }) =>
        choice.kind === "tool" && first ? { choice: { kind: "tool", name: first.name } } : {},
      ),
    },
    "tools",
  ],
  "tool-choice-required-ignored": [
    "C6",
    "No tool is called where any one is required.",
    { answer: asIf(({ choice }) => (choice.kind === "any" ? { choice: { kind: "auto" } } : {})) },
    "tools",
  ],
  "tool-choice-ignored-in-stream": [
    "C6",
    "The choice of a tool is ignored in streams.",
    { when: "stream", answer: asIf(() => ({ choice: { kind: "none" } })) },
    "tools",
  ],
  "tool-calls-not-single": [
    "C6",
    "Two tools are called where one call at most is allowed.",
    { answer: asIf(() => ({ parallel: true })) },
    "single calls",
  ],
  "tool-arguments-of-another": [
    "C6",
    "Every call has the arguments of the first one.",
    {
      replay: ({ request }) => (request.choice.kind === "tool" ? "tool" : ""),
    },
    "tools",
  ],
  "tool-value-unknown": [
    "C6",
    "A call has a value that the tool does not know.",
    { answer: calls((call) => ({ arguments: call.arguments.replace("celsius", "kelvin") })) },
    "tools",
  ],
  "calls-swapped": [
    "C6",
    "Two calls of an answer have each other's arguments.",
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
    "A format of the answer is ignored.",
    { request: ({ answerSchema: _schema, ...request }) => request },
    "formats",
  ],
  "format-ignored-in-stream": [
    "C6",
    "A format of the answer is ignored in streams.",
    { when: "stream", request: ({ answerSchema: _schema, ...request }) => request },
    "formats",
  ],
  "format-without-schema": [
    "C6",
    "An answer is JSON, and not of the schema that was asked for.",
    { when: "format", answer: (answer) => ({ ...answer, text: '{"answer":1}' }) },
    "formats",
  ],

  "model-in-stream": [
    "C7",
    "A stream names another model; a whole answer names the right one.",
    { when: "stream", model: OTHER_MODEL },
  ],
  "model-whole": [
    "C7",
    "A whole answer names another model; a stream names the right one.",
    { when: "whole", model: OTHER_MODEL },
  ],
  "model-once-in-ten": [
    "C7",
    "Every tenth chat answer of the simulator names another model.",
    { every: 10, model: OTHER_MODEL },
  ],
  "model-fake-date": [
    "C7",
    "The model is named with the suffix -20261399, which is not a date.",
    { model: "*-20261399" },
  ],
  "model-with-system": [
    "C7",
    "Another model answers requests with a system message.",
    { when: "system", model: OTHER_MODEL },
  ],
  "model-with-history": [
    "C7",
    "Another model answers requests with earlier turns.",
    { when: "history", model: OTHER_MODEL },
  ],
  "model-with-tools": [
    "C7",
    "Another model answers requests with tools.",
    { when: "tools", model: OTHER_MODEL },
    "tools",
  ],
  "model-when-long": [
    "C7",
    "Another model answers prompts above 1,000 tokens.",
    { when: "long", model: OTHER_MODEL },
  ],
  "model-with-others": [
    "C7",
    "Another model answers prompts in other alphabets.",
    { when: "others", model: OTHER_MODEL },
  ],
  "model-with-system-in-stream": [
    "C7",
    "Another model streams to requests with a system message and tools.",
    { when: "stream system tools", model: OTHER_MODEL },
    "tools",
  ],
  "model-unnamed-in-stream": [
    "C7",
    "A stream does not name its model.",
    { when: "stream", json: (text) => text.replace(/"model":"[^"]*",?/, "") },
  ],

  "bound-ignored": [
    "C9",
    "The output bound is ignored: the whole answer is sent and reported.",
    { answer: asIf(() => ({ maxTokens: undefined })) },
  ],
  "bound-ignored-in-stream": [
    "C9",
    "The output bound is ignored in streams.",
    { when: "stream", answer: asIf(() => ({ maxTokens: undefined })) },
  ],
  "bound-off-by-one": [
    "C9",
    "An answer that is cut at its bound has one token more than the bound.",
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
    "No bound is less than 40 tokens.",
    { answer: asIf(({ maxTokens = 40 }) => ({ maxTokens: Math.max(40, maxTokens) })) },
  ],

  "context-truncated": [
    "C10",
    "Only the last 2,000 tokens of the prompt are read; all of them are reported.",
    { read: lastTokens },
  ],
  "context-truncated-in-stream": [
    "C10",
    "Only the last 2,000 tokens of the prompt are read in streams.",
    { when: "stream", read: lastTokens },
  ],
  "middle-dropped": [
    "C10",
    "Of a text of more than 4,000 characters the middle third is not read.",
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
    "Of a text of more than 8,000 characters only the first and the last 2,000 are read.",
    {
      read: rewriteRead("all", (text) =>
        text.length > 8_000 ? text.slice(0, 2_000) + text.slice(-2_000) : text,
      ),
    },
  ],
  "image-ignored": [
    "C10",
    "An image in the prompt has no influence on the answer.",
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
    "Of several images in a prompt the first one is read.",
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
  "system-dropped": ["C10", "The system message is not read.", { read: unread("system") }],
  "system-dropped-in-stream": [
    "C10",
    "The system message is not read in streams.",
    { when: "stream", read: unread("system") },
  ],
  "system-cut": [
    "C10",
    "Of a system message the first 200 characters are read.",
    { read: rewriteRead("system", (text) => text.slice(0, 200)) },
  ],
  "system-dropped-with-tools": [
    "C10",
    "The system message is not read where tools are offered.",
    { when: "tools", read: unread("system") },
    "tools",
  ],
  "history-dropped": ["C10", "Earlier turns are not read.", { read: unread("history") }],
  "turns-forgotten": [
    "C10",
    "Of several earlier turns the last one is read.",
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
  "answers-dropped": [
    "C10",
    "Of earlier turns the answers are not read.",
    { read: unread("answers") },
  ],
  "history-cut": [
    "C10",
    "Of every earlier message the first 300 characters are read.",
    { read: rewriteRead("history", (text) => text.slice(0, 300)) },
  ],
  "results-dropped": ["C10", "Tool results are not read.", { read: unread("results") }, "tools"],
  "results-cut": [
    "C10",
    "Of a tool result the first 300 characters are read.",
    { read: rewriteRead("results", (text) => text.slice(0, 300)) },
    "tools",
  ],
  "others-dropped": [
    "C10",
    "Characters of other alphabets than Latin are not read.",
    { read: rewriteRead("all", (text) => text.replaceAll(/[\u0250-\uffff]/g, "")) },
  ],
  "others-as-question-marks": [
    "C10",
    "Characters beyond ASCII are read as question marks, in streams.",
    {
      when: "stream",
      read: rewriteRead("all", (text) => text.replaceAll(/[\u0080-\uffff]/g, "?")),
    },
  ],
  "others-lost-in-answer": [
    "C10 and others",
    "Characters of other alphabets are lost in the answer.",
    { answer: (answer) => ({ ...answer, text: answer.text.replaceAll(/[\u0250-\uffff]/g, "") }) },
  ],
  "replayed-by-prefix": [
    "C10 and others",
    "Who asks with the same first 200 characters gets the first one's answer.",
    { replay: ({ body }) => textOfPart(body, "last").slice(0, 200).padEnd(200) },
  ],
  "replayed-by-long-prefix": [
    "C10 and others",
    "Who asks with the same first 1,000 characters gets the first one's answer.",
    {
      replay: ({ body }) =>
        textOfPart(body, "all").length > 1_000 ? textOfPart(body, "all").slice(0, 1_000) : "",
    },
  ],
  "replayed-by-question": [
    "C10 and others",
    "Who asks with the same last 120 characters gets the first one's answer.",
    {
      replay: ({ body }) =>
        textOfPart(body, "last").length < 120 ? "" : textOfPart(body, "last").slice(-120),
    },
  ],
  "replayed-by-length": [
    "C10 and others",
    "A prompt of as many tokens gets the answer to the first one that had as many.",
    {
      when: "stream",
      replay: ({ request }) =>
        request.tools.length > 0 || request.stops.length > 0 ? "" : String(request.promptTokens),
    },
  ],
  "replayed-by-system": [
    "C10 and others",
    "Who has the same first 100 characters of a system message gets the first one's answer.",
    { when: "system", replay: ({ body }) => textOfPart(body, "system").slice(0, 100) },
  ],
};
