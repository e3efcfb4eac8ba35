import { generateKeyPairSync, sign } from "node:crypto";

interface Certified {
  readonly host?: string;
  readonly lastYear?: number;
}

/** Makes a key and a certificate, so that the repository contains no key. */
export function selfSigned({ host = "secret-provider-host", lastYear = 2099 }: Certified = {}): {
  readonly key: string;
  readonly cert: string;
} {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(0x30, OID_ECDSA_SHA256);
  const attribute = der(0x30, OID_COMMON_NAME, der(0x0c, Buffer.from(host)));
  const name = der(0x30, der(0x31, attribute));
  const years = der(0x30, time("20200101000000Z"), time(`${lastYear}1231235959Z`));
  const publicKeyInfo = publicKey.export({ type: "spki", format: "der" });
  const serial = der(0x02, Buffer.of(1));
  const toSign = der(0x30, serial, algorithm, name, years, name, publicKeyInfo);
  const signature = sign("sha256", toSign, privateKey);
  const certificate = der(0x30, toSign, algorithm, der(0x03, Buffer.of(0), signature));
  const base64 = certificate.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

const OID_ECDSA_SHA256 = Buffer.from("06082a8648ce3d040302", "hex");
const OID_COMMON_NAME = Buffer.from("0603550403", "hex");

function time(text: string): Buffer {
  return der(0x18, Buffer.from(text));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
