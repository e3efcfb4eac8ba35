import { chatCall } from "../call/chat-call.ts";
import { decisionCall } from "../call/decision-call.ts";
import { imageCall } from "../call/image-call.ts";
import { serveCall } from "../call/call.ts";
import { serveCountTokens } from "../call/serve-count-tokens.ts";
import type { LimitDeps } from "../records/limit-use.ts";
import type { CallPorts } from "../call/ports.ts";
import { serveAdmissionLimits } from "../records/serve-admission-limits.ts";
import { serveLimits } from "../records/serve-limits.ts";
import {
  serveGeneration,
  serveModel,
  serveModels,
  serveUsage,
  type RecordDeps,
} from "../records/serve-records.ts";
import { dryRunOf, serveRoute } from "../call/serve-route.ts";
import { serveVideoContent } from "../videos/serve-video-content.ts";
import { serveVideo, type VideoReadDeps } from "../videos/serve-video.ts";
import { UsageCsv } from "../records/usage-csv.ts";
import { decisionWire } from "../modality/decisions/index.ts";
import { imageWire } from "../modality/images/registry.ts";
import { chatWires } from "../modality/chat/registry.ts";
import { videoWire } from "../modality/videos/index.ts";
import { videoCall } from "../videos/video-call.ts";
import { get, post, postSmall, RouteTable, type RequestTarget } from "./route-table.ts";

/** What the routes read from and write to besides serving calls. */
export type StoredDeps = RecordDeps &
  Pick<LimitDeps, "rules" | "limitDefaults"> & { readonly videos: VideoReadDeps };

/** Every route of the gateway, each with the recipe that serves it. */
export function gatewayRoutes(serve: CallPorts, records: StoredDeps): RouteTable {
  const chatA = chatCall(chatWires, "wire_a");
  const chatB = chatCall(chatWires, "wire_b");
  const images = imageCall(imageWire);
  const videos = videoCall(videoWire, records.videos);
  const decisions = decisionCall(decisionWire, serve.clock);
  const dryRuns = new Map([
    ["chat", dryRunOf(chatA, "wire_a")],
    ["messages", dryRunOf(chatB, "wire_b")],
    ["images", dryRunOf(images)],
    ["videos", dryRunOf(videos)],
    ["decisions", dryRunOf(decisions)],
  ]);
  const routeDeps = { ...serve, records: records.records };
  const limitDeps = { ...serve, ...records };
  const usageDeps = { ...records, csv: new UsageCsv(records.records, serve.clock) };
  return new RouteTable([
    post("/v1/chat/completions", (exchange) => serveCall(serve, exchange, chatA)),
    post("/v1/messages", (exchange) => serveCall(serve, exchange, chatB)),
    post("/v1/messages/count_tokens", (exchange) => serveCountTokens(serve, exchange)),
    // The alias has no version segment.
    ...["/v1/images/generations", "/images/generations"].map((path) =>
      post(path, (exchange) => serveCall(serve, exchange, images)),
    ),
    postSmall("/v1/videos", (exchange) => serveCall(serve, exchange, videos)),
    get("/v1/videos/{id}", (exchange, target) =>
      serveVideo(records.videos, exchange, target.id ?? ""),
    ),
    {
      ...get("/v1/videos/{id}/content", (exchange, target) =>
        serveVideoContent(records.videos, exchange, {
          id: target.id ?? "",
          query: queryOf(target),
        }),
      ),
      answersHead: true,
    },
    postSmall("/v1/decisions", (exchange) => serveCall(serve, exchange, decisions)),
    post("/v1/route", (exchange, target) =>
      serveRoute(routeDeps, exchange, { runs: dryRuns, query: queryOf(target) }),
    ),
    get("/v1/models", async (exchange, target) => serveModels(records, exchange, queryOf(target))),
    get("/v1/models/{id}", async (exchange, target) =>
      serveModel(records, exchange, target.id ?? ""),
    ),
    get("/v1/usage", (exchange, target) => serveUsage(usageDeps, exchange, queryOf(target))),
    get("/v1/limits", (exchange, target) => serveLimits(limitDeps, exchange, queryOf(target))),
    post("/api/admission-limits", (exchange) => serveAdmissionLimits(limitDeps, exchange)),
    get("/v1/generation", (exchange, target) =>
      serveGeneration(records, exchange, queryOf(target)),
    ),
  ]);
}

function queryOf(target: RequestTarget): URLSearchParams {
  return new URLSearchParams(target.queryText);
}
