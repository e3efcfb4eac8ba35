import type { PlannedLimits, PlannedOrg } from "./plan-accounts.ts";

export type CommandArgument = string | { readonly saved: string };

export interface PlannedCommand {
  readonly args: readonly CommandArgument[];
  /** The script keeps this field of the JSON answer in the variable `as`, for later commands. */
  readonly saves?: { readonly field: string; readonly as: string };
  /** If set, the script writes the new key of the answer to the keys file under this name. */
  readonly newKeyOf?: string;
}

const EMAIL = "EMAIL";

export function accountCommands(orgs: readonly PlannedOrg[]): PlannedCommand[] {
  const commands: PlannedCommand[] = [];
  const add = (...args: readonly CommandArgument[]): void => void commands.push({ args });
  for (const [at, org] of orgs.entries()) {
    const id = { saved: `ORG_${at + 1}` };
    commands.push({
      args: ["org", "create", "--email", { saved: EMAIL }, "--json", "--", org.name],
      saves: { field: "org_id", as: id.saved },
    });
    if (org.creditUsd !== undefined) {
      add("credit", "grant", "--org", id, `--amount-usd=${org.creditUsd}`, `--ref=${org.ref}`);
    }
    if (org.capUsd !== undefined) add("org", "cap", id, `--cap-usd=${org.capUsd}`);
    const flags = limitFlags(org.limits);
    if (flags.length > 0) add("limits", "contract", "--org", id, "--scope=org", ...flags);
    for (const [keyAt, key] of org.keys.entries()) {
      const keyId = { saved: `KEY_${at + 1}_${keyAt + 1}` };
      const { rpm = 0, ...others } = key.limits;
      const isTooHigh = rpm > KEY_RPM_MAX;
      const rpmFlags = rpm === 0 || isTooHigh ? [] : [`--rpm=${rpm}`];
      const capFlags = key.capUsd === undefined ? [] : [`--cap-usd=${key.capUsd}`];
      const name = `--name=${key.name}`;
      commands.push({
        args: ["key", "create", "--org", id, name, ...rpmFlags, ...capFlags, "--json"],
        saves: { field: "key.key_id", as: keyId.saved },
        newKeyOf: `${org.name} / ${key.name}`,
      });
      const more = limitFlags(isTooHigh ? { ...others, rpm } : others);
      const contract = ["limits", "contract", "--org", id, "--scope=key", "--key-id", keyId];
      if (more.length > 0) add(...contract, ...more);
    }
  }
  return commands;
}

const KEY_RPM_MAX = 1_000_000;

function limitFlags(limits: PlannedLimits): readonly string[] {
  return Object.entries(limits).map(([name, value]) => `--${name}=${value}`);
}

/** A script for `sh`. It prints no key: keys go to a new file that only its owner can read. */
export function renderScript(commands: readonly PlannedCommand[]): string {
  return [HEAD, ...commands.map(renderLine), TAIL, ""].join("\n");
}

const HEAD = `#!/bin/sh
# Makes the organizations and keys of a LiteLLM installation.
# Run it with the server up or down. If it stops, run it again: it goes on from there.
# The old keys cannot be carried: LiteLLM has only their hashes.
# Give the new ones to their users.
set -eu
umask 077
: "\${EMAIL:?set EMAIL to the contact address of the organizations}"
KEYS_FILE=\${KEYS_FILE:-new-keys.tsv}
MADE=$KEYS_FILE.made
if [ ! -e "$MADE" ]; then
  set -C
  : > "$KEYS_FILE"
  set +C
  : > "$MADE"
fi
made() { sed -n "s/^$1=//p" "$MADE"; }
tm() { \${TOKENMARKET:-tokenmarket} "$@"; }
field() {
  node -e 'let t="";process.stdin.on("data",(d)=>(t+=d)).on("end",()=>console.log(process.argv[1].split(".").reduce((v,k)=>v[k],JSON.parse(t))))' "$1"
}`;

const TAIL = `rm "$MADE"
echo "the new keys are in $KEYS_FILE; only its owner can read it" >&2`;

function renderLine({ args, saves, newKeyOf }: PlannedCommand): string {
  const command = `tm ${args.map(shellWord).join(" ")}`;
  if (saves === undefined) return `${command} >/dev/null`;
  const key = `"$(printf '%s' "$ANSWER" | field secret)"`;
  const toKeys = `printf '%s\\t%s\\t%s\\n' ${quoteShell(newKeyOf ?? "")} "$${saves.as}" ${key}`;
  return [
    `${saves.as}=$(made ${saves.as})`,
    `if [ -z "$${saves.as}" ]; then`,
    `ANSWER=$(${command})`,
    `${saves.as}=$(printf '%s' "$ANSWER" | field ${saves.field})`,
    ...(newKeyOf === undefined ? [] : [`${toKeys} >>"$KEYS_FILE"`]),
    `echo "${saves.as}=$${saves.as}" >>"$MADE"`,
    "fi",
  ].join("\n");
}

function shellWord(argument: CommandArgument): string {
  if (typeof argument !== "string") return `"$${argument.saved}"`;
  return /^[\w./=:-]+$/.test(argument) ? argument : quoteShell(argument);
}

/** Quotes an argument for `sh`, where only the single quote needs an escape. */
function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
