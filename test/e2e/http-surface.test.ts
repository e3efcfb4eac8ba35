import { describe, expect, test } from "vitest";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer, type HttpCall } from "../support/http-call.ts";
import { expectRefusal, REQUEST_ID } from "../support/refusals.ts";

/** Not the default. */
const INTERNAL_HOST = "127.0.0.2";
const gateway = withGateway({ settings: { internalHost: INTERNAL_HOST } });
const account = withAccount(gateway, "25.00");

async function ask(path: string, call: HttpCall = {}): Promise<HttpAnswer> {
  return await httpCall(gateway.url + path, call);
}

async function askWithKey(path: string, call: HttpCall = {}): Promise<HttpAnswer> {
  return await ask(path, { ...call, headers: { ...bearer(account.key), ...call.headers } });
}

const EXPOSED =
  "x-request-id, request-id, x-tm-provider, x-tm-attempts, x-tm-remaining-rpm, " +
  "x-tm-remaining-tpm, x-tm-queue-ms, x-tm-dropped-params, retry-after";

describe("routes that do not exist", () => {
  test.each([
    ["GET", "/"],
    ["POST", "/v1/responses"],
    ["DELETE", "/login"],
    ["GET", "/v1/chat/completions"],
    ["GET", "/api/admission-limits"],
    ["POST", "/v1/chat/completions/"],
    ["POST", "/V1/chat/completions"],
    ["POST", "//v1/chat/completions"],
    ["POST", "/v1/chat%2Fcompletions"],
    ["GET", "/v1/models/%zz"],
    ["GET", "/metrics"],
    ["GET", "/.env"],
  ])("%s %s is a 404 in the wire_a shape, and reaches no provider", async (method, path) => {
    const calls = gateway.simulator.counts().total;
    const call = method === "GET" ? { method } : { method, body: chatBody("test/a") };
    const answer = await askWithKey(path, call);
    expectRefusal(answer, { status: 404, code: "not_found", message: "no route" });
    expect(at(answer.json, "error.code")).toBe("not_found");
    expect(answer.headers["x-tm-error-origin"]).toBeUndefined();
    expect(gateway.simulator.counts().total).toBe(calls);
  });

  test.each([
    ["GET", "/v1/messages"],
    ["DELETE", "/v1/messages/batches"],
  ])("%s %s is a 404 in the wire_b shape", async (method, path) => {
    const answer = await askWithKey(path, { method });
    expectRefusal(answer, { status: 404, code: "not_found" });
    expect(answer.json).toMatchObject({
      type: "error",
      error: { type: "not_found_error", error_type: "not_found" },
    });
  });
});

describe("probes", () => {
  test("HEAD / answers 200 without a key", async () => {
    const answer = await ask("/", { method: "HEAD" });
    expect(answer).toMatchObject({ status: 200, text: "" });
  });

  test.each(["/healthz", "/readyz"])(
    "%s answers on both listeners, without a key",
    async (path) => {
      for (const url of [gateway.url, gateway.running.internalUrl]) {
        expect(await httpCall(url + path)).toMatchObject({ status: 200, text: "ok\n" });
        expect((await httpCall(url + path, { method: "HEAD" })).status).toBe(200);
      }
    },
  );

  test("only the internal listener shows the metrics", async () => {
    await askWithKey("/v1/chat/completions", { body: chatBody("test/a") });
    // The listener uses the address of its setting, because scrapers are not on loopback.
    expect(new URL(gateway.running.internalUrl).hostname).toBe(INTERNAL_HOST);
    const answer = await httpCall(`${gateway.running.internalUrl}/metrics`);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toContain("text/plain");
    expect(answer.text).toMatch(/^# HELP /m);
    expect(answer.text).toContain('route="/v1/chat/completions"');
    expect(answer.text).not.toContain("tm_vk_");
    expect((await ask("/metrics")).status).toBe(401);
    expect((await httpCall(`${gateway.running.consoleUrl}/metrics`)).status).toBe(404);
    expect((await httpCall(`${gateway.running.internalUrl}/v1/models`)).status).toBe(404);
  });
});

describe("browsers", () => {
  test.each(["/v1/chat/completions", "/nope"])(
    "a preflight for %s is answered without a key",
    async (path) => {
      for (const origin of ["https://app.example.com", "null"]) {
        const answer = await ask(path, {
          method: "OPTIONS",
          headers: {
            origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type, x-stainless-lang",
          },
        });
        expect(answer).toMatchObject({ status: 204, text: "" });
        expect(answer.headers["access-control-allow-origin"]).toBe("*");
        // The list of headers is fixed and does not echo the request.
        expect(answer.headers["access-control-allow-headers"]).toBe(
          "authorization, content-type, x-api-key, *",
        );
        expect(answer.headers["access-control-allow-methods"]).toContain("POST");
        expect(answer.headers).not.toHaveProperty("access-control-allow-credentials");
      }
    },
  );

  test("every kind of answer exposes exactly the listed headers", async () => {
    const origin = { origin: "https://app.example.com" };
    const answers = [
      await askWithKey("/v1/models", { headers: origin }),
      await askWithKey("/v1/chat/completions", { body: chatBody("test/a"), headers: origin }),
      await askWithKey("/v1/chat/completions", {
        body: chatBody("test/a", { stream: true }),
        headers: origin,
      }),
      await askWithKey("/v1/chat/completions", { body: "no JSON", headers: origin }),
      await ask("/v1/models", { headers: origin }),
      await ask("/login", { headers: origin }),
      await ask("/v1/models", { method: "OPTIONS", headers: origin }),
    ];
    expect(answers.map((each) => each.status)).toEqual([200, 200, 200, 400, 401, 404, 204]);
    for (const { headers } of answers) {
      expect(headers["access-control-expose-headers"]).toBe(EXPOSED);
      expect(headers["access-control-allow-origin"]).toBe("*");
      expect(headers).not.toHaveProperty("access-control-allow-credentials");
    }
    expect(EXPOSED).not.toContain("x-tm-error-code");
  });

  test("the console sends no CORS headers to other origins", async () => {
    const answer = await httpCall(`${gateway.running.consoleUrl}/api/models.json`, {
      headers: { origin: "https://app.example.com" },
    });
    expect(Object.keys(answer.headers).filter((name) => name.includes("access-control"))).toEqual(
      [],
    );
  });
});

describe("request ids", () => {
  test("are made by the gateway, whatever the client or the provider sends", async () => {
    const own = { "x-request-id": "mine", "request-id": "mine" };
    for (const model of ["test/a", "test/b"]) {
      const call = { body: chatBody(model), headers: own };
      const { headers, status } = await askWithKey("/v1/chat/completions", call);
      expect(status).toBe(200);
      expect(headers["x-request-id"]).toMatch(REQUEST_ID);
      expect(headers["request-id"]).toBe(headers["x-request-id"]);
    }
    const calls = gateway.simulator.calls().slice(-2);
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      expect(JSON.stringify(call.headers)).not.toContain("mine");
    }
    const refused = await ask("/v1/models", { headers: own });
    expect(refused.headers["x-request-id"]).toMatch(REQUEST_ID);
  });
});

describe("response headers", () => {
  const ALLOWED = new Set(
    (
      "x-request-id request-id content-type content-length transfer-encoding date connection " +
      "keep-alive cache-control x-accel-buffering retry-after access-control-allow-origin " +
      "access-control-expose-headers x-should-retry x-tm-provider x-tm-attempts x-tm-remaining-rpm " +
      "x-tm-remaining-tpm x-tm-dropped-params x-tm-error-code x-tm-error-origin " +
      "x-tm-upstream-status x-tm-limit-scope x-tm-limit-kind x-tm-limit-id x-tm-cap-reset"
    ).split(" "),
  );
  const faults = [
    "",
    "retry_after:77",
    "content_type:application/x-odd",
    "status:500;retry_after:77",
    "status:429;retry_after:77",
    "status:400",
    "status:401",
    "body:html;status:502",
    "context_overflow",
    "content_filter",
  ];
  const cases = [
    ["test/a", true],
    ["test/b", false],
  ] as const;

  test("are the gateway's own: none of a provider's passes through", async () => {
    for (const [model, stream] of cases)
      for (const fault of faults) {
        const content = fault === "" ? "Hello" : `[[fault:${fault}]] Hello`;
        const body = chatBody(model, { stream, messages: [{ role: "user", content }] });
        const { headers, text, status } = await askWithKey("/v1/chat/completions", { body });
        const foreign = Object.keys(headers).filter((name) => !ALLOWED.has(name));
        expect({ model, stream, fault, foreign }).toEqual({ model, stream, fault, foreign: [] });
        expect(headers["x-request-id"]).toMatch(REQUEST_ID);
        expect(headers["content-type"]).toMatch(/^(application\/json|text\/event-stream)/);
        expect(text).not.toContain("secret-provider-words");
        expect(status === 200 && "retry-after" in headers).toBe(false);
      }
  });
});
