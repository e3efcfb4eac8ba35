/** What a program needs to be found and to run; everything else may hold a secret. */
const PASSED_ON = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot", "TEMP", "TMP"];

/**
 * The environment of PostgreSQL's own programs: a session that may run programs, or read the files
 * of the system, reads it.
 */
export function embeddedEnvironment(): Record<string, string> {
  const passed = PASSED_ON.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(passed), LC_ALL: "C", TZ: "UTC" };
}
