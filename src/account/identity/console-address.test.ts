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

test("loopback is this machine by its names and addresses, and nothing that only looks like it", () => {
  for (const host of ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"]) {
    expect(isLoopback(host)).toBe(true);
  }
  for (const host of [
    "0.0.0.0",
    "127.0.0.1.example.com",
    "localhost.example.com",
    "::",
    "10.0.0.1",
  ]) {
    expect(isLoopback(host)).toBe(false);
  }
});

test("a link signs in on loopback or where it is asked for, never beside an identity provider", () => {
  expect(chooseSignInKind(plain)).toBe("local");
  expect(chooseSignInKind({ ...plain, host: "0.0.0.0" })).toBe("none");
  expect(chooseSignInKind({ ...plain, consoleUrl: "https://console.example.com" })).toBe("none");
  expect(chooseSignInKind({ ...plain, host: "0.0.0.0", localSignIn: true })).toBe("local");
  expect(chooseSignInKind({ ...plain, localSignIn: true, oidcIssuer: issuer })).toBe("oidc");
});

describe("sign-in never uses plain http that others can read", () => {
  const exposed: AddressConfig[] = [
    { ...plain, host: "0.0.0.0", oidcIssuer: issuer },
    { ...plain, consoleUrl: "http://console.example.com", oidcIssuer: issuer },
    { ...plain, host: "0.0.0.0", localSignIn: true },
  ];
  test("the console says which setting is missing", () => {
    for (const config of exposed) {
      expect(() => assertSafeConsole(config)).toThrow(InsecureConsoleFault);
      expect(() => assertSafeConsole(config)).toThrow(/console_url/);
    }
  });

  test("unless the operator allows it, it is https, loopback, or sign-in is off", () => {
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

test("an issuer is https, or http on loopback", () => {
  expect(parseIssuer("https://id.example.com/realms/a").href).toBe(
    "https://id.example.com/realms/a",
  );
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
