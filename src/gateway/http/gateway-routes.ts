import type { CallPorts } from "../call/ports.ts";
import { bindDryRun, serveRoute } from "../call/serve-route.ts";
import { serveCall } from "../call/call.ts";
import { type CountedCall, serveCountTokens } from "../call/count-tokens.ts";
import {
  chatOn,
  decisions,
  images,
  tokenCounting,
  type Wire,
  wires,
  type WireTable,
} from "../../formats/index.ts";
import {
  ORG_READ_WAIT_MS,
  ORG_READS_MAX,
  ORG_READS_WAITING_MAX,
  SETTINGS_REQUESTS_PER_MINUTE,
  SMALL_BODY_BYTES_MAX,
  TOKEN_COUNTS_PER_ORG_MAX,
  Turns,
  USAGE_SUMS_PER_ORG_MAX,
  USAGE_SUMS_WAITING_MAX,
  VIDEO_FILES_PER_ORG_MAX,
} from "../../kernel/index.ts";
import type { LimitDeps } from "../records/limit-use.ts";
import {
  type RecordDeps,
  serveGeneration,
  serveModel,
  serveModels,
  serveUsage,
} from "../records/serve-records.ts";
import { serveAdmissionLimits, serveLimits } from "../records/serve-admission-limits.ts";
import { UsageCsv } from "../records/usage-csv.ts";
import { OrgGate } from "../records/org-gate.ts";
import { serveVideo, type VideoReadDeps } from "../videos/serve-video.ts";
import { serveVideoContent } from "../videos/serve-video-content.ts";
import { videoCall } from "../videos/video-call.ts";
import { get, post, postSmall, RouteTable, type RequestTarget, type Route } from "./route-table.ts";

export type StoredDeps = RecordDeps & Pick<LimitDeps, "rules"> & { readonly videos: VideoReadDeps };

export function gatewayRoutes(
  ports: CallPorts,
  records: StoredDeps,
  table: WireTable = wires,
): RouteTable {
  const chats = table.all.map((wire) => ({ wire, chat: chatOn(wire, table) }));
  const asking = new Turns({ running: TOKEN_COUNTS_PER_ORG_MAX, waiting: 0 });
  const video = videoCall(records.videos);
  const dryRuns = new Map([
    ...chats.map(({ wire, chat }) => [wire.dryRunName, bindDryRun(chat)] as const),
    [images.family, bindDryRun(images)],
    [video.family, bindDryRun(video, SMALL_BODY_BYTES_MAX)],
    [decisions.family, bindDryRun(decisions, SMALL_BODY_BYTES_MAX)],
  ]);
  const routeDeps = { ...ports, records: records.records };
  const limitDeps: LimitDeps = { ...ports, ...records };
  const { sums, reads, settings, files } = openGates();
  const csv = new UsageCsv(records.records, ports.clock, sums);
  const usageDeps = { ...records, sums, reads, csv };
  const videoDeps = { ...records.videos, reads, files };
  const routes = [
    ...chats.flatMap(({ wire, chat }) => [
      post(wire.clientPath, (exchange) => serveCall(ports, exchange, chat)),
      ...countRoutes(ports, wire, { chat, asking }),
    ]),
    ...["/v1/images/generations", "/images/generations"].map((path) =>
      post(path, (exchange) => serveCall(ports, exchange, images)),
    ),
    postSmall("/v1/videos", (exchange) => serveCall(ports, exchange, video)),
    get("/v1/videos/{id}", (exchange, target) => serveVideo(videoDeps, exchange, target.id ?? "")),
    {
      ...get("/v1/videos/{id}/content", (exchange, target) =>
        serveVideoContent(videoDeps, exchange, {
          id: target.id ?? "",
          query: parseQuery(target),
        }),
      ),
      answersHead: true,
    },
    postSmall("/v1/decisions", (exchange) => serveCall(ports, exchange, decisions)),
    post("/v1/route", (exchange, target) =>
      serveRoute(routeDeps, exchange, { runs: dryRuns, query: parseQuery(target) }),
    ),
    get("/v1/models", (exchange, target) => serveModels(records, exchange, parseQuery(target))),
    get("/v1/models/{id}", async (exchange, target) =>
      serveModel(records, exchange, target.id ?? ""),
    ),
    get("/v1/usage", (exchange, target) => serveUsage(usageDeps, exchange, parseQuery(target))),
    get("/v1/limits", (exchange, target) =>
      reads.run(exchange, () => serveLimits(limitDeps, exchange, parseQuery(target))),
    ),
    post("/api/admission-limits", (exchange) =>
      settings.run(exchange, () => serveAdmissionLimits(limitDeps, exchange)),
    ),
    get("/v1/generation", (exchange, target) =>
      reads.run(exchange, () => serveGeneration(records, exchange, parseQuery(target))),
    ),
  ];
  return new RouteTable(routes, table);
}

function openGates() {
  const waitMs = ORG_READ_WAIT_MS;
  const sums = new OrgGate(
    { running: USAGE_SUMS_PER_ORG_MAX, waiting: USAGE_SUMS_WAITING_MAX, waitMs },
    "too many sums of the usage of this organization are being read or wait",
  );
  const reads = new OrgGate(
    { running: ORG_READS_MAX, waiting: ORG_READS_WAITING_MAX, waitMs },
    "too many GET requests of this organization are being answered or wait",
  );
  const settings = new OrgGate(
    { running: ORG_READS_MAX, waiting: SETTINGS_REQUESTS_PER_MINUTE, waitMs },
    "too many changes of limits by keys of this organization are being made or wait",
  );
  const files = new OrgGate(
    { running: VIDEO_FILES_PER_ORG_MAX, waiting: 0 },
    `${VIDEO_FILES_PER_ORG_MAX} video files of this organization are already being sent`,
  );
  return { sums, reads, settings, files };
}

function countRoutes(
  ports: CallPorts,
  wire: Wire,
  count: Pick<CountedCall, "asking" | "chat">,
): readonly Route[] {
  const counting = tokenCounting(wire);
  if (counting === undefined) return [];
  const { clientPath } = counting.counter;
  return [
    post(clientPath, (exchange) => serveCountTokens(ports, exchange, { counting, ...count })),
  ];
}

function parseQuery(target: RequestTarget): URLSearchParams {
  return new URLSearchParams(target.queryText);
}
