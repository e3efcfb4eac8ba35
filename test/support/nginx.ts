import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { orReport } from "./or-report.ts";
import { newFolder } from "./run-folder.ts";
import { answersOk } from "./tethered-program.ts";

const PROGRAM: string = "nginx";

export const hasNginx: boolean = orReport(
  spawnSync(PROGRAM, ["-v"]).status === 0,
  "nginx is not on PATH: restarts behind a balancer were NOT tested",
);

/** Starts nginx on a free port of loopback. It repeats no request and keeps connections open. */
export async function startNginx(urls: readonly string[]) {
  const folder = newFolder("nginx");
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  const write = (servers: readonly string[]): void =>
    writeFileSync(file, configOf(folder, port, servers));
  write(urls);
  const child = spawn(PROGRAM, ["-p", folder, "-c", file, "-e", "stderr"], { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  await until("nginx answers", () => answersOk(`${url}/livez`));
  return {
    url,
    /** Sends new requests only to these servers; running requests end where they are. */
    balance: (servers: readonly string[]) => {
      write(servers);
      child.kill("SIGHUP");
    },
    close: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configOf(folder: string, port: number, servers: readonly string[]): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const upstream = servers.map((server) => `server ${new URL(server).host} max_fails=0;`);
  return `worker_processes 1; worker_rlimit_nofile 20000; daemon off; pid ${folder}/nginx.pid; error_log stderr warn;
events { worker_connections 16384; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  ${temporary.join(" ")}
  upstream gateways { ${upstream.join(" ")} keepalive 32; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateways; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 300s; proxy_next_upstream off;
    }
  }
}
`;
}
