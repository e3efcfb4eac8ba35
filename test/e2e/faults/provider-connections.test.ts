import { createServer as createProxyServer, type Server } from "node:http";
import { readFileSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";

import { describe, expect, test } from "vitest";

import { hasOpenssl, makeAuthority } from "../../support/authority.ts";
import { ask, type HttpAnswer } from "../../support/ask.ts";
import { ended, nothingHeld } from "../../support/books.ts";
import { CHAT_ANSWER, startClosingProvider } from "../../support/closing-provider.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../../support/gateway.ts";
import { withServer } from "../../support/local-server.ts";
import { withResource } from "../../support/with-resource.ts";

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
    "by %s is asked again in the same attempt, for one hold and no strike",
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

  test("that cannot be reached is logged with the reason, which the client is not told", async () => {
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

describe.runIf(hasOpenssl)("providers behind a proxy, with an authority and a certificate", () => {
  const authority = withResource(makeAuthority, (made) => made.close());
  const secure = withServer(() => {
    const [ca, cert, key] = [authority.caFile, authority.certFile, authority.keyFile].map((file) =>
      readFileSync(file),
    );
    return createSecureServer(
      { cert, key, ca, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        request.resume().on("end", () => {
          response.writeHead(200, { "content-type": "application/json" }).end(CHAT_ANSWER);
        });
      },
    ) as unknown as Server;
  });
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
    const { caFile, certFile, keyFile } = authority;
    return {
      manifests: names.map((name) => manifest(name, base)),
      settings: {
        upstreamProxy: `http://user:pass@127.0.0.1:${proxy.port},straight=,stranger=,distrusting=,denied=${proxy.url}`,
        upstreamCaFile: `${caFile},distrusting=`,
        upstreamCertFile: `${certFile},stranger=,distrusting=`,
        upstreamKeyFile: `${keyFile},stranger=,distrusting=`,
      },
    };
  });
  const account = withAccount(gateway, "100");

  test.each([
    ["tunnelled", 200, 1, undefined],
    ["straight", 200, 0, undefined],
    ["stranger", 502, 0, /stranger: (tls|reset) [A-Z_]+/],
    ["distrusting", 502, 0, /distrusting: tls \w*(SELF_SIGNED|UNABLE)\w+/],
    ["denied", 502, 0, /denied: refused proxy status 407/],
  ] as const)("%s is answered %i through %i tunnels", async (provider, status, count, reason) => {
    tunnels.length = 0;
    const asked = {
      key: account.key,
      wire: "wire_a",
      model: `test/${provider}`,
      text: "hi",
    } as const;
    const answer = await ask(gateway.url, asked);
    expect(answer.status).toBe(status);
    expect(tunnels).toEqual(Array.from({ length: count }, () => `localhost:${secure.port}`));
    if (reason !== undefined) {
      const lines = gateway.log().split("\n");
      expect(lines.find((each) => each.includes(answer.requestId))).toMatch(reason);
      expect(answer.text).not.toMatch(/certificate|tls|proxy/i);
    }
  });
});
