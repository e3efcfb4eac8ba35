import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { startServer } from "../support/tethered-program.ts";
import { freePort } from "../support/free-port.ts";
import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import { descendantsOf } from "../support/process-cost.ts";
import { TargetAbsent, type Target, type TargetStart } from "../../bench/targets/target.ts";
import { usualEndpoint } from "./peer-files.ts";

/** nginx as a reverse proxy with one worker: it checks no key, parses nothing and bills nothing. */
export async function startNginx(start: TargetStart): Promise<Target> {
  const command = findNginx();
  const port = await freePort();
  const configFile = join(start.folder, "nginx.conf");
  writeFileSync(configFile, nginxConfig(start, port));
  const args = ["-p", start.folder, "-c", configFile];
  const program = await startServer({
    port,
    command,
    args,
    logFile: join(start.folder, "nginx.log"),
  });
  return {
    id: "nginx",
    version: nginxVersion(command),
    // nginx does not translate: on a translated route it relays the client's own wire.
    endpoint: (route) => usualEndpoint(port, route, "bench"),
    modelId: ({ client }) => UPSTREAM_MODEL_ID[client],
    processes: () => ({ own: [program.processId, ...descendantsOf(program.processId)] }),
    stop: () => program.stop(),
  };
}

function findNginx(): string {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const found = folders.map((folder) => join(folder, "nginx")).find((file) => existsSync(file));
  if (found === undefined) {
    throw new TargetAbsent(
      "nginx is neither in PATH nor in /usr/sbin; on Debian: apt install nginx",
    );
  }
  return found;
}

function nginxVersion(command: string): string {
  const printed = spawnSync(command, ["-v"], { encoding: "utf8" }).stderr;
  return /nginx\/(\S+)/.exec(printed)?.[1] ?? "";
}

function nginxConfig({ folder, mockPort }: TargetStart, port: number): string {
  // If root starts nginx, its worker would run as a user who may not enter the folder.
  const user = process.getuid?.() === 0 ? "user root;" : "";
  return `
${user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000000;
  client_max_body_size 20m;
  client_body_buffer_size 1m;
  upstream mock {
    server 127.0.0.1:${mockPort};
    keepalive 512;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
