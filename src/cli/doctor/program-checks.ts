import type { CheckGroup, DoctorCheck } from "./doctor-check.ts";

/** The program that runs, and its configuration: that it was read is known by now. */
export const programChecks: CheckGroup = () => [
  nodeCheck(),
  { id: "configuration", level: "ok", detail: "every setting is valid" },
];

function nodeCheck(): DoctorCheck {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isSupported = major > 20 || (major === 20 && minor >= 19);
  return {
    id: "node",
    level: isSupported ? "ok" : "problem",
    detail: `${process.version} (needs 20.19 or newer; 24 is recommended)`,
  };
}
