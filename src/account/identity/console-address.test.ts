import { describe, expect, test } from "vitest";

import {
  assertSafeConsole,
  IdentitySettingFault,
  InsecureConsoleFault,
  isLoopback,
  parseIssuer,
  chooseSignInKind,
  type AddressConfig,
} from "./console-address.ts";

const plain: AddressConfig = {
  consoleUrl: "",
  host: "127.0.0.1",
  oidcIssuer: "",
  localSignIn: false,
  allowInsecureConsole: false,
};
const issuer = "https://id.example.com";

test("localhost names, 127.x and ::1 are loopback, and hosts that only look alike are not", () => {
  const own = ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"];
  for (const host of own) expect(isLoopback(host)).toBe(true);
  const others = ["0.0.0.0", "127.0.0.1.example.com", "localhost.example.com", "::", "10.0.0.1"];
  for (const host of others) expect(isLoopback(host)).toBe(false);
});

test("sign-in by link is on for loopback or if it is configured, but never with an identity provider", () => {
  expect(chooseSignInKind(plain)).toBe("local");
  expect(chooseSignInKind({ ...plain, host: "0.0.0.0" })).toBe("none");
  expect(chooseSignInKind({ ...plain, consoleUrl: "https://console.example.com" })).toBe("none");
  expect(chooseSignInKind({ ...plain, host: "0.0.0.0", localSignIn: true })).toBe("local");
  expect(chooseSignInKind({ ...plain, localSignIn: true, oidcIssuer: issuer })).toBe("oidc");
});

describe("the console's address", () => {
  const exposed: AddressConfig[] = [
    { ...plain, host: "0.0.0.0", oidcIssuer: issuer },
    { ...plain, consoleUrl: "http://console.example.com", oidcIssuer: issuer },
    { ...plain, host: "0.0.0.0", localSignIn: true },
  ];
  test("is rejected, naming console_url, if sign-in would use plain http beyond loopback", () => {
    for (const config of exposed) {
      expect(() => assertSafeConsole(config)).toThrow(InsecureConsoleFault);
      expect(() => assertSafeConsole(config)).toThrow(/console_url/);
    }
  });

  test("is accepted on https, on loopback, without sign-in, or if the operator allows plain http", () => {
    for (const config of [
      ...exposed.map((each) => ({ ...each, allowInsecureConsole: true })),
      { ...plain, oidcIssuer: issuer },
      { ...plain, host: "0.0.0.0" },
      { ...plain, host: "0.0.0.0", consoleUrl: "https://console.example.com", oidcIssuer: issuer },
      { ...plain, host: "0.0.0.0", consoleUrl: "http://localhost:8081", oidcIssuer: issuer },
    ]) {
      expect(() => assertSafeConsole(config)).not.toThrow();
    }
  });
});

test("an issuer is https, or http on loopback, and has no query and no credentials", () => {
  const realm = "https://id.example.com/realms/a";
  expect(parseIssuer(realm).href).toBe(realm);
  expect(parseIssuer("http://127.0.0.1:9000").port).toBe("9000");
  for (const text of [
    "http://id.example.com",
    "id.example.com",
    "ftp://id.example.com",
    "https://id.example.com/?a=b",
    "https://user:secret@id.example.com",
  ]) {
    expect(() => parseIssuer(text)).toThrow(IdentitySettingFault);
  }
});
