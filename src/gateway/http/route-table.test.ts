import { expect, test } from "vitest";

import { get, post, RouteTable } from "./route-table.ts";

const nothing = (): Promise<void> => Promise.resolve();
const table = new RouteTable([
  get("/v1/models", nothing),
  get("/v1/models/{id}", nothing),
  get("/v1/videos/{id}", nothing),
  { ...get("/v1/videos/{id}/content", nothing), answersHead: true },
  post("/v1/videos", nothing),
]);

test.each([
  ["GET", "/v1/models", "/v1/models", undefined],
  ["GET", "/v1/models/acme/small", "/v1/models/{id}", "acme/small"],
  ["GET", "/v1/models/acme%2Fsmall", "/v1/models/{id}", "acme/small"],
  ["GET", "/v1/videos/video_1", "/v1/videos/{id}", "video_1"],
  ["GET", "/v1/videos/video_1/content", "/v1/videos/{id}/content", "video_1"],
  ["HEAD", "/v1/videos/video_1/content", "/v1/videos/{id}/content", "video_1"],
  ["POST", "/v1/videos", "/v1/videos", undefined],
])("%s %s is served by %s", (method, path, route, id) => {
  const found = table.find(method, path);
  expect({ path: found?.route.path, id: found?.id }).toEqual({ path: route, id });
});

test.each([
  ["POST", "/v1/models"],
  ["GET", "/v1/videos/"],
  ["HEAD", "/v1/videos/video_1"],
  ["GET", "/v1/models/%E0%A4%A"],
  ["GET", "/v1.videos/video_1"],
])("%s %s is not a route", (method, path) => {
  expect(table.find(method, path)).toBeUndefined();
});
