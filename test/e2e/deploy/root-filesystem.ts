import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import type { ImageConfig, Step } from "./dockerfile-steps.ts";
import { orReport } from "../../support/or-report.ts";

/**
 * Makes root folders of images without a container engine, from Debian's `debootstrap` and npm's
 * package `node`. This is the version of Node.js in the images that the Dockerfile names by digest.
 */
export const NODE_VERSION = "24.18.0";
const SUITE = "bookworm";
/** The Debian packages of the shell-less base image. */
const DISTROLESS_PACKAGES = [
  "base-files",
  "ca-certificates",
  "libc6",
  "libgcc-s1",
  "libssl3",
  "libstdc++6",
  "tzdata",
  "zlib1g",
];
/** On a disk, because the folders take a gigabyte and the temporary folder may be memory. */
export const ROOTS = "/var/tmp";
/** The certificates that this machine trusts; its package registry may have one of its own. */
const TRUSTED = "/etc/ssl/certs/ca-certificates.crt";
const CACHE = join(ROOTS, `tokenmarket-roots-${SUITE}-${NODE_VERSION}`);
const DISTROLESS_USERS =
  "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n";

/** The PATH of the official images, in which the starting shell also finds its programs. */
const IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const run = promisify(execFile);

/** True as root on Linux with debootstrap and namespaces, which the steps need. */
export const canCarryOut: boolean = orReport(
  process.getuid?.() === 0 &&
    spawnSync("debootstrap", ["--version"]).status === 0 &&
    spawnSync("unshare", ["--mount", "--pid", "--fork", "true"]).status === 0,
  "the steps of the Dockerfile need root on Linux, unshare and debootstrap",
);

/** A folder like the root of the official Node image on slim Debian. Made once, in a minute. */
export async function nodeOnDebian(): Promise<string> {
  return await cached("debian", async (folder) => {
    const include = "--include=ca-certificates,libstdc++6,libssl3,tzdata";
    await run("debootstrap", ["--variant=minbase", include, SUITE, folder]);
    const npm = resolve(dirname(readLink("npm")), "..");
    cpSync(npm, join(folder, "usr/local/lib/node_modules/npm"), { recursive: true });
    symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(folder, "usr/local/bin/npm"));
    symlinkSync("../lib/node_modules/npm/bin/npx-cli.js", join(folder, "usr/local/bin/npx"));
    await putNode(join(folder, "usr/local/bin/node"));
  });
}

/** A folder like the root of the shell-less Node image. */
export async function nodeWithoutShell(): Promise<string> {
  const debian = await nodeOnDebian();
  return await cached("distroless", async (folder) => {
    mkdirSync(folder);
    for (const name of DISTROLESS_PACKAGES) {
      const database = `--admindir=${join(debian, "var/lib/dpkg")}`;
      const { stdout } = await run("dpkg-query", [database, "-L", name]);
      await run("cp", ["-a", "--parents", ...filesOf(stdout, debian), folder], { cwd: debian });
    }
    for (const [to, from] of mergedFolders(debian)) {
      if (!existsSync(join(folder, to))) symlinkSync(from, join(folder, to));
    }
    cpSync(join(debian, "etc/ssl"), join(folder, "etc/ssl"), { recursive: true });
    writeFileSync(join(folder, "etc/passwd"), DISTROLESS_USERS);
    writeFileSync(join(folder, "etc/group"), "root:x:0:\nnonroot:x:65532:\n");
    mkdirSync(join(folder, "nodejs/bin"), { recursive: true });
    cpSync(join(debian, "usr/local/bin/node"), join(folder, "nodejs/bin/node"));
    for (const name of ["tmp", "proc", "dev"]) mkdirSync(join(folder, name), { recursive: true });
  });
}

/** Copies a root folder, so that the copy may be changed. */
export async function copyOfRoot(root: string, to: string): Promise<void> {
  await run("cp", ["-a", "--reflink=auto", root, to]);
}

/** Runs one Dockerfile `RUN` as root in `root`; without `network`, there is not even loopback. */
export async function runInRoot(
  root: string,
  { command, workdir, network }: { command: string; workdir: string; network: boolean },
): Promise<void> {
  const registry = join(homedir(), ".npmrc");
  const shell = [
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    network ? 'cp /etc/resolv.conf "$0/etc/resolv.conf"' : "true",
    network && existsSync(registry) ? `cp ${registry} "$0/root/.npmrc"` : 'rm -f "$0/root/.npmrc"',
    network && existsSync(TRUSTED) ? `cp ${TRUSTED} "$0${TRUSTED}"` : "true",
    `exec chroot "$0" /usr/bin/env -i PATH=${IMAGE_PATH} HOME=/root NODE_EXTRA_CA_CERTS=${TRUSTED} ` +
      '/bin/sh -c "cd $1 && $2"',
  ].join(" && ");
  const space = ["--mount", "--pid", "--fork", "--kill-child", ...(network ? [] : ["--net"])];
  await run("unshare", [...space, "sh", "-c", shell, root, workdir, command], {
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** Carries out a `COPY` like a container engine: copies a folder's contents, keeps links. */
export async function copyIntoRoot(
  step: Extract<Step, { kind: "copy" }>,
  { from, root, workdir }: { from: string; root: string; workdir: string },
): Promise<void> {
  const target = join(root, resolve(workdir, step.target));
  const isFolder = step.target.endsWith("/") || step.sources.length > 1;
  mkdirSync(isFolder ? target : dirname(target), { recursive: true });
  for (const source of step.sources) {
    const path = join(from, source);
    const contents = source.endsWith("/") || source === "." ? `${path}/.` : path;
    await run("cp", ["-a", "--no-preserve=ownership", contents, target]);
  }
}

/**
 * Starts the process of an image: on a read-only root with its own `/tmp`, with only the rights of
 * its user, and as the first process of its own PID namespace.
 */
export function startImage(
  root: string,
  config: ImageConfig,
  options: {
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    /** Folders of this machine, by their path inside the image. */
    readonly mounts?: Readonly<Record<string, string>>;
  } = {},
): ChildProcess {
  const mounts = Object.entries(options.mounts ?? {}).map(
    ([inside, outside]) => `mount --bind '${outside}' "$0${inside}"`,
  );
  const shell = [
    'mount --bind "$0" "$0"',
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    'mount -t tmpfs -o mode=1777,size=64m tmpfs "$0/tmp"',
    ...mounts,
    'mount -o remount,bind,ro "$0"',
    'root="$0"',
    'exec chroot --userspec="$1" "$root" "${@:2}"',
  ].join(" && ");
  const [program = "", ...first] = config.entrypoint;
  const args = options.args ?? config.command;
  const all = ["bash", "--norc", "-c", shell, root, config.user, program, ...first, ...args];
  return spawn("unshare", ["--mount", "--pid", "--fork", "--kill-child", ...all], {
    env: { PATH: IMAGE_PATH, ...config.env, ...options.env },
  });
}

/** Paths in a root folder that have the name of a shell. */
export function shellsIn(root: string): readonly string[] {
  const folders = ["bin", "usr/bin", "sbin", "usr/sbin", "usr/local/bin"];
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => /\/(?:ba|da|a|z|k)?sh$|\/busybox$/.test(path));
}

async function cached(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(CACHE, name);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const unfinished = `${folder}.${process.pid}`;
  rmSync(unfinished, { recursive: true, force: true });
  await make(unfinished);
  renameSync(unfinished, folder);
  return folder;
}

async function putNode(path: string): Promise<void> {
  const spec = `--package=node@${NODE_VERSION}`;
  const { stdout } = await run("npx", ["--yes", spec, "--", "node", "-p", "process.execPath"]);
  cpSync(stdout.trim(), path, { dereference: true });
}

function readLink(program: string): string {
  return spawnSync("sh", ["-c", `readlink -f "$(command -v ${program})"`])
    .stdout.toString()
    .trim();
}

/** The files and links that a package installed and that exist, without documentation. */
function filesOf(listed: string, root: string): readonly string[] {
  return listed
    .split("\n")
    .filter((path) => path !== "" && path !== "/." && !path.startsWith("/usr/share/doc"))
    .map((path) => path.slice(1))
    .filter((path) => spawnSync("test", ["-f", join(root, path)]).status === 0);
}

/** The links of a root folder with merged folders, such as `lib` → `usr/lib`. */
function mergedFolders(root: string): readonly (readonly [string, string])[] {
  return ["bin", "sbin", "lib", "lib64"].flatMap((name) => {
    const link = spawnSync("readlink", [join(root, name)])
      .stdout.toString()
      .trim();
    return link === "" ? [] : [[name, link] as const];
  });
}
