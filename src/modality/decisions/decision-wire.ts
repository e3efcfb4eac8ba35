import type { Deployment } from "../../catalog/catalog.ts";
import type { RequestId } from "../../core/ids.ts";
import type { Refusal } from "../../core/refusals.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import type { ProviderControls } from "../../wire/fields/provider-controls.ts";
import type { Unservable } from "../../wire/chat-wire.ts";
import type { FailedAnswer, UpstreamFailure } from "../../wire/failure/upstream-failure.ts";
import type { UpstreamRequest } from "../../wire/upstream-request.ts";

/** The typed answer that a question asks for, in one form whatever the grammar was. */
export type Question =
  | {
      readonly wire: "systemone";
      readonly id: string;
      readonly kind: "noul" | "choice" | "score" | "box";
      /** The type as the buyer spelled it: `boolean` for a noul, `integer` for a score, … */
      readonly asked: string;
      /** As sent, with the schema's description behind it; undefined where the criteria say it all. */
      readonly instructions: unknown;
      /** noul: by "true" and "false". choice: by label. score: one per level. Undefined: none. */
      readonly criteria: unknown;
      /** Of a `choice`: its labels in order. */
      readonly labels?: readonly string[];
      /** Of an integer or number asked with min and max: the value of level 0. */
      readonly scoreFrom?: number;
    }
  | {
      readonly wire: "gliner";
      readonly id: string;
      readonly kind: "classification" | "entities" | "relations" | "structure";
      /**
       * Under which the provider answers: unique in a request. In the public form of the wire all
       * entities are answered under `entities` and all relations under `relation_extraction`.
       */
      readonly resultName: string;
      /**
       * The values as sent, without its name and under the first names of its fields: `type` (of a
       * `boolean` that word, and no labels: they are `yes` and `no`), `labels`, `multi_label`,
       * `threshold`, `top_k`, `instructions`, `examples`, `fields`.
       */
      readonly body: Readonly<Record<string, unknown>>;
    };

/** A decisions request read and checked at the door, in the grammar it was written in. */
export interface DecisionRequest {
  readonly modelId: string;
  readonly stream: false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  /** The client's body as it came. */
  readonly body: Buffer;
  /** Which grammar the questions are written in. */
  readonly grammar: "systemone" | "gliner";
  /** Parsed; JSON or text, whether it came as `state` or as `text`. */
  readonly state: unknown;
  readonly questions: readonly Question[];
  /** Paths of `image_url` objects in state and questions, `state.items[2]`. */
  readonly imagePaths: readonly string[];
  /** Of these in the state. */
  readonly stateImages: number;
  /** Bytes of the state's JSON without inline base64. */
  readonly stateBytes: number;
  /** Once over everything: bytes without inline base64, and 65,536 for each image. */
  readonly estimatedInputTokens: number;
  readonly outputTokens: number;
  /** Other fields of the body that the grammar takes (`threshold`, …), as sent. */
  readonly others: Readonly<Record<string, unknown>>;
}

export interface OpenDecisionAnswer {
  readonly request: DecisionRequest;
  readonly deployment: Deployment;
  readonly requestId: RequestId;
  readonly createdSeconds: number;
}

/** What `decisions/` offers the folders above. */
export interface DecisionWire {
  readDecisionRequest(body: Buffer): DecisionRequest | Refusal;
  /** The other grammar, a kind that does not fit the state, images that are not read, … */
  whyUnservable(request: DecisionRequest, deployment: Deployment): Unservable | undefined;
  /** Input tokens to reserve on this deployment: the state once, or once per question. */
  inputTokens(request: DecisionRequest, deployment: Deployment): number;
  encode(request: DecisionRequest, deployment: Deployment): UpstreamRequest | Refusal;
  openAnswer(open: OpenDecisionAnswer): AnswerBridge;
  /** Sorts a failed answer by the table of this route; opens the envelope first. */
  classify(failed: FailedAnswer, deployment: Deployment, nowMs: number): UpstreamFailure;
}
