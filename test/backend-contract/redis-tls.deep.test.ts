import { describe, expect, onTestFinished, test } from "vitest";

import { hasOpenssl, makeAuthority } from "../support/authority.ts";
import { until } from "../support/books.ts";
import { freePort } from "../support/free-port.ts";
import { redisProgram, startRedis } from "../support/redis.ts";
import { newSlot, orgScope, Side } from "../support/redis-side.ts";
import { silentLog } from "../support/silent-log.ts";

describe.skipIf(redisProgram === undefined)(
  "a Redis with a certificate of a private authority",
  () => {
    test.skipIf(!hasOpenssl)("is accepted only with its CA file and its host name", async () => {
      const authority = makeAuthority();
      const port = await freePort();
      const files = ["--tls-cert-file", authority.certFile, "--tls-key-file", authority.keyFile];
      const tls = ["--tls-port", String(port), ...files, "--tls-auth-clients", "no"];
      const redis = await startRedis([...tls, "--tls-ca-cert-file", authority.caFile]);
      onTestFinished(() => authority.close());
      onTestFinished(() => redis.close());
      const claimed = async (host: string, caFile: string): Promise<string> => {
        const url = `rediss://${host}:${port}`;
        let isDown = false;
        const warn = (): void => void (isDown = true);
        const log = { ...silentLog, warn, error: warn } as typeof silentLog;
        const side = new Side(url, { servers: { url, caFile }, log });
        await Promise.race([side.store.ready(10_000), until("it is refused", () => isDown)]);
        const { kind } = await side.claim(newSlot(), orgScope({}));
        side.store.close();
        return kind;
      };
      expect(await claimed("localhost", authority.caFile)).toBe("claimed");
      expect(await claimed("127.0.0.1", authority.caFile)).toBe("unavailable");
      expect(await claimed("localhost", "")).toBe("unavailable");
      expect(() => new Side("", { servers: { url: "redis://x", caFile: "/none.pem" } })).toThrow(
        "redis.ca_file: /none.pem cannot be read",
      );
    });
  },
);
