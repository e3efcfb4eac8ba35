import { expect, test } from "vitest";

import { type AnswerBridge, ServedModelNote } from "../../wire/answer/answer-bridge.ts";
import { openDecisionAnswer } from "../decisions/open-answer.ts";
import { play, requestId } from "../../../../test/fixtures/modality/answer-kit.ts";
import { decisionsDeployment } from "../../../../test/fixtures/modality/decision-kit.ts";
import {
  buildAnswer,
  imageListing,
  openBridge,
  playImages,
  PNG,
} from "../../../../test/fixtures/images/image-kit.ts";
import { readJob } from "../videos/read-job.ts";

const OTHER = { name: "other-1", isSubstituted: true };

test("a stream that reports several models is flagged by the first that its listing does not allow", () => {
  const served = (...reported: unknown[]): unknown => {
    const note = new ServedModelNote({ upstreamModelId: "one-2", resolvesTo: ["uno"] });
    for (const each of reported) note.take(each);
    return note.served;
  };
  expect(served(undefined, "", null)).toBeUndefined();
  expect(served("one-2", "uno", "one-2")).toEqual({ name: "one-2", isSubstituted: false });
  expect(served("one-2", "one-2", "other-1", "one-2")).toEqual(OTHER);
  expect(served("other-1", "one-2", "another")).toEqual(OTHER);
});

test("the model that an image answer reports is recorded, and flagged if it is not the listing's", () => {
  const { bridge } = playImages(openBridge(), [buildAnswer([PNG], { model: "other-1" })]);
  expect(bridge.servedModel).toEqual(OTHER);
  expect(playImages(openBridge(), [buildAnswer([PNG])]).bridge.servedModel).toBeUndefined();
  const upstreamModelId = imageListing().upstreamModelId;
  const same = playImages(openBridge(), [buildAnswer([PNG], { model: upstreamModelId })]).bridge;
  expect(same.servedModel).toEqual({ name: upstreamModelId, isSubstituted: false });
});

test("the model that a decisions answer reports is recorded, inside an envelope too", () => {
  const answers = { safe: { value: true } };
  expect(decided({ model: "other-1", answers }).servedModel).toEqual(OTHER);
  const wrapped = { success: true, result: { model: "other-1", answers } };
  expect(decided(wrapped, "envelope_v4").servedModel).toEqual(OTHER);
  expect(decided({ answers }).servedModel).toBeUndefined();
});

function decided(body: object, envelope?: "envelope_v4"): AnswerBridge {
  const deployment = decisionsDeployment(envelope && { envelope });
  const words = { asked: "noul", instructions: "?", criteria: undefined };
  const questions = [{ wire: "systemone", id: "safe", kind: "noul", ...words }] as const;
  const open = { request: { questions }, deployment, requestId, createdSeconds: 1_800_000_000 };
  return play(openDecisionAnswer(open), [JSON.stringify(body)]).bridge;
}

test("the model that the record of a finished video reports is read", () => {
  const record = { id: "v", status: "completed", model: "other-1" };
  expect(readJob(Buffer.from(JSON.stringify(record)))?.model).toBe("other-1");
});
