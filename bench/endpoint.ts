/** Where and how one gateway wants one request: all a load generator needs to know. */
export interface Endpoint {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The HTTP/1.1 bytes of one POST with this body on a kept-alive connection. */
export function requestBytes(endpoint: Endpoint, body: string): Buffer {
  const headers = {
    host: `127.0.0.1:${endpoint.port}`,
    "content-type": "application/json",
    accept: "*/*",
    ...endpoint.headers,
    "content-length": String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${endpoint.path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

/** The same as another customer. */
export function withKey(endpoint: Endpoint, key: string): Endpoint {
  return { ...endpoint, headers: { ...endpoint.headers, authorization: `Bearer ${key}` } };
}
