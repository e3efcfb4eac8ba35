import { createServer as createProxyServer } from "node:http";
import { rmSync, writeFileSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ask, type HttpAnswer } from "../../support/ask.ts";
import { ended, nothingHeld } from "../../support/books.ts";
import { CHAT_ANSWER, startClosingProvider } from "../../support/closing-provider.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../../support/gateway.ts";
import { withServer } from "../../support/local-server.ts";
import { selfSigned } from "../../support/self-signed.ts";
import { withResource } from "../../support/with-resource.ts";
import { newFolder } from "../../support/run-folder.ts";

const closing = withResource(startClosingProvider, (provider) => provider.close());

function manifest(provider: string, baseUrl: string): object {
  const models = [textModel(`test/${provider}`)];
  return simulatorManifest({ provider, dialect: "wire_a", baseUrl, models });
}

describe("a provider that closes kept connections", () => {
  const gateway = withGateway(() => ({
    manifests: [manifest("closing", closing.url), manifest("nobody", "http://127.0.0.1:9/v1")],
  }));
  const account = withAccount(gateway, "100");

  const call = (provider: string): Promise<HttpAnswer> =>
    ask(gateway.url, { key: account.key, wire: "wire_a", model: `test/${provider}`, text: "hi" });

  test.each(["fin", "rst"] as const)(
    "by %s gets the request again in the same attempt, with one hold and no strike",
    async (ending) => {
      closing.ending = ending;
      const { length } = closing.requests;
      const answers: HttpAnswer[] = [];
      for (let n = 0; n < 6; n += 1) answers.push(await call("closing"));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
      expect(closing.requests.length - length).toBeGreaterThan(6);
      for (const { requestId, headers } of answers) {
        expect(headers["x-tm-attempts"]).toBe("1");
        expect((await ended(gateway, account, requestId)).attempts).toHaveLength(1);
      }
      const metrics = await (await fetch(`${gateway.running.internalUrl}/metrics`)).text();
      expect(metrics).toMatch(/^tm_resends_total\{provider="closing"\} [1-9]/m);
      await nothingHeld(gateway, account);
    },
  );

  test("an unreachable provider is logged with the reason, which the client does not see", async () => {
    const answer = await call("nobody");
    expect(answer.status).toBe(502);
    expect(answer.text).not.toMatch(/ECONNREFUSED|refused|127\.0\.0\.1/);
    const line = gateway
      .log()
      .split("\n")
      .find((each) => each.includes(answer.requestId));
    expect(line).toContain('"unreached":["nobody: refused ECONNREFUSED"]');
  });
});

describe("providers behind a proxy, with a private authority and a client certificate", () => {
  const [authority, client] = [selfSigned({ host: "localhost" }), selfSigned({ host: "gateway" })];
  const folder = withResource(
    () => ({ path: newFolder("certificates") }),
    ({ path }) => rmSync(path, { recursive: true }),
  );
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const secure = withServer(() =>
    createSecureServer(
      { ...authority, ca: client.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        request.resume().on("end", () => {
          response.writeHead(200, { "content-type": "application/json" }).end(CHAT_ANSWER);
        });
      },
    ),
  );
  const tunnels: string[] = [];
  const proxy = withServer(() => {
    const server = createProxyServer();
    server.on("connect", (request, socket) => {
      const authorization = request.headers["proxy-authorization"];
      if (authorization === undefined) return socket.end("HTTP/1.1 407 No\r\n\r\n");
      tunnels.push(request.url ?? "");
      const [host = "", port] = (request.url ?? "").split(":");
      const target = connect(Number(port), host, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        target.pipe(socket).pipe(target);
      });
      target.on("error", () => socket.destroy());
      socket.on("error", () => target.destroy());
      return undefined;
    });
    return server;
  });
  const gateway = withGateway(() => {
    const base = `https://localhost:${secure.port}/v1`;
    const names = ["tunnelled", "straight", "stranger", "distrusting", "denied"];
    return {
      manifests: names.map((name) => manifest(name, base)),
      settings: {
        upstreamProxy: `http://user:pass@127.0.0.1:${proxy.port},straight=,stranger=,distrusting=,denied=${proxy.url}`,
        upstreamCaFile: `${file("ca.pem", authority.cert)},distrusting=`,
        upstreamCertFile: `${file("client.pem", client.cert)},stranger=,distrusting=`,
        upstreamKeyFile: `${file("client.key", client.key)},stranger=,distrusting=`,
      },
    };
  });
  const account = withAccount(gateway, "100");

  const call = async (provider: string): Promise<HttpAnswer> => {
    tunnels.length = 0;
    const model = `test/${provider}`;
    return await ask(gateway.url, { key: account.key, wire: "wire_a", model, text: "hi" });
  };

  test.each([
    ["tunnelled", 1],
    ["straight", 0],
  ])("are reached as their settings say: %s through %i tunnels", async (provider, count) => {
    expect((await call(provider)).status).toBe(200);
    expect(tunnels).toEqual(Array.from({ length: count }, () => `localhost:${secure.port}`));
  });

  test.each([
    ["stranger", /stranger: (tls|reset) [A-Z_]+/],
    ["distrusting", /distrusting: tls \w*(SELF_SIGNED|UNABLE)\w+/],
    ["denied", /denied: refused proxy status 407/],
  ])(
    "are not reached with wrong settings: %s, and only the log says why",
    async (provider, reason) => {
      const { status, text, requestId } = await call(provider);
      expect(status).toBe(502);
      expect(tunnels).toEqual([]);
      const lines = gateway.log().split("\n");
      expect(lines.find((each) => each.includes(requestId))).toMatch(reason);
      expect(text).not.toMatch(/certificate|tls|proxy/i);
    },
  );
});
