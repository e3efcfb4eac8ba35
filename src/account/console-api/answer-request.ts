import { Readable } from "node:stream";

import type { FastifyReply, FastifyRequest } from "fastify";

import {
  defined,
  isStoreFault,
  JOURNAL_RETRY_AFTER_SECONDS,
  type PlainPage,
} from "../../kernel/index.ts";
import { ReportTimeout } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField, unavailable } from "./console-refusal.ts";
import type { ConsoleError } from "./contract.ts";
import { BusyFault } from "./guard-request.ts";
import type { OpenedFile } from "./file-answer.ts";
import { isKept, PublicDocument } from "./public-document.ts";

export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: unknown,
): FastifyReply {
  if (answer instanceof ConsoleRefusal) return sendRefusal(reply, answer);
  if (answer instanceof PublicDocument) return sendDocument(request, reply, answer);
  return reply.type(JSON_TYPE).send(JSON.stringify(answer));
}

const JSON_TYPE = "application/json; charset=utf-8";

export function sendRefusal(reply: FastifyReply, refusal: ConsoleRefusal): FastifyReply {
  const { status, code, message, field, retryAfterSeconds } = refusal;
  const error = defined({ code, message, field });
  const body: ConsoleError = { error, request_id: reply.request.id };
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(retryAfterSeconds));
  return reply
    .code(status)
    .header("cache-control", "no-store")
    .type(JSON_TYPE)
    .send(JSON.stringify(body));
}

/** Answers a fault but not its cause; logs the cause unless the answer is a known refusal. */
export function refuseFault(
  { log }: Pick<ConsoleDeps, "log">,
  fault: unknown,
  reply: FastifyReply,
): FastifyReply {
  const { request } = reply;
  const known = toRefusal(fault);
  if (known !== undefined) return sendRefusal(reply, known);
  const route = request.routeOptions.url ?? null;
  if (isStoreFault(fault)) {
    log.warn(
      { err: fault, request_id: request.id, route },
      "the database did not answer a request",
    );
    return sendRefusal(reply, STORE_UNAVAILABLE);
  }
  log.error({ err: fault, request_id: request.id, route }, "the console failed on a request");
  return sendRefusal(reply, FAILED);
}

const FAILED = new ConsoleRefusal(
  500,
  "gateway_error",
  "the console failed to handle this request; try again, and if it fails again, report it with the request ID",
);

const STORE_UNAVAILABLE = unavailable(
  `the database is not responding; try again in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
  JOURNAL_RETRY_AFTER_SECONDS,
);

const BUSY = unavailable(
  `the console is receiving as many bytes as it can keep; try again in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
  JOURNAL_RETRY_AFTER_SECONDS,
);

const TOO_SLOW = unavailable(
  "reading your records took too long; choose a shorter time range, or try again in a moment",
  5,
);

function toRefusal(fault: unknown): ConsoleRefusal | undefined {
  if (fault instanceof ReportTimeout) return TOO_SLOW;
  if (fault instanceof BusyFault) return BUSY;
  const statusCode = findStatus(fault);
  if (statusCode === undefined) return undefined;
  const [code, message] = OF_STATUS.get(statusCode) ?? NO_HTTP;
  return new ConsoleRefusal(statusCode, code, message);
}

type FrameworkProblem = readonly [code: ConsoleRefusal["code"], message: string];
const NO_HTTP: FrameworkProblem = [
  "invalid_request",
  "the request is not valid HTTP; check its path, its length and its body",
];
const OF_STATUS: ReadonlyMap<number, FrameworkProblem> = new Map([
  [413, ["request_too_large", "the body is larger than this route accepts; send a smaller one"]],
  [415, ["invalid_request", "this route does not accept a body of this content-type"]],
]);

/**
 * Returns the 4xx status that Fastify or its plugin for files gave. Any other error's status came
 * from another server: a payment provider's 401 does not mean that this request was wrong.
 */
function findStatus(fault: unknown): number | undefined {
  const { code, status, statusCode, expose } = fault as Readonly<Record<string, unknown>>;
  const isFramework = typeof code === "string" && code.startsWith("FST_");
  const isHttp = typeof expose === "boolean" && status === statusCode;
  const isOfRequest = typeof statusCode === "number" && statusCode >= 400 && statusCode < 500;
  return isOfRequest && (isFramework || isHttp) ? statusCode : undefined;
}

export const NO_JSON: ConsoleRefusal = invalidField("body", "the body must be valid JSON");

function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: PublicDocument,
): FastifyReply {
  reply.header("etag", document.etag);
  reply.header("cache-control", `public, max-age=${document.maxAgeSeconds}`);
  if (isKept(request.headers["if-none-match"], document.etag)) return reply.code(304).send();
  return reply.type(JSON_TYPE).send(document.body);
}

export function sendFile(reply: FastifyReply, contentType: string, file: OpenedFile): FastifyReply {
  const stream = Readable.from(file.pieces, { highWaterMark: 1 });
  stream.once("close", file.onClosed);
  return reply
    .type(`${contentType}; charset=utf-8`)
    .headers(file.headers)
    .header("content-disposition", `attachment; filename="${file.fileName}"`)
    .send(stream);
}

export function sendPlainPage(reply: FastifyReply, status: number, page: PlainPage): FastifyReply {
  return (
    reply
      .code(status)
      .header("content-security-policy", page.policy)
      // The form must send its origin, but not the page's address, which contains a token.
      .header("referrer-policy", "strict-origin")
      .type("text/html; charset=utf-8")
      .send(page.html)
  );
}
