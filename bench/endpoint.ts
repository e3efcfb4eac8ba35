/** The port, path and headers with which a load generator calls a gateway. */
export interface Endpoint {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the HTTP/1.1 bytes of one POST on a kept-alive connection. */
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

export function withKey(endpoint: Endpoint, key: string): Endpoint {
  return { ...endpoint, headers: { ...endpoint.headers, authorization: `Bearer ${key}` } };
}
