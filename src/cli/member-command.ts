import { Option, type Command } from "commander";

import type { Backend } from "../app/index.ts";
import {
  assert,
  instant,
  isEmail,
  normaliseEmail,
  type OrgId,
  parseRole,
  type Role,
  ROLES,
  unreachable,
} from "../core/index.ts";
import { type Member, TEAM_MAX } from "../team/index.ts";
import {
  answering,
  type CommandAnswer,
  type Flags,
  onStoredData,
  UsageFault,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { knownOrg } from "./stored-command.ts";

/** `member list | add | role | remove`: the operator's way, also where every owner is gone. */
export function addMemberCommand(program: Command, context: CommandContext): void {
  const member = program
    .command("member")
    .description("the people of an organization and their roles in the console");
  onOrg(member.command("list"))
    .description("list the members of an organization")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend) => listAnswer(await readTeam(backend, flags))),
      ),
    );
  onMember(member.command("add"))
    .description("add a person who has signed in before with this verified e-mail address")
    .addOption(roleOption())
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend, by) => {
          const { orgId } = await readTeam(backend, flags);
          const email = readEmail(flags);
          const done = await backend.teamStore.add(orgId, { email, role: readRole(flags) }, by);
          if (done !== "done") throw new UsageFault(addProblem(done, email));
          return listAnswer(await readTeam(backend, flags));
        }),
      ),
    );
  onMember(member.command("role"))
    .description("change the role of a member; the last owner stays one")
    .addOption(roleOption())
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend, by) => {
          const { orgId, member: found } = await readMember(backend, flags);
          const change = { accountId: found.accountId, role: readRole(flags) };
          return await changed(backend, flags, backend.teamStore.setRole(orgId, change, by));
        }),
      ),
    );
  onMember(member.command("remove"))
    .description("remove a member; the last owner cannot be removed")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, async (backend, by) => {
          const { orgId, member: found } = await readMember(backend, flags);
          const gone = { accountId: found.accountId, why: "removed" } as const;
          return await changed(backend, flags, backend.teamStore.remove(orgId, gone, by));
        }),
      ),
    );
}

function onOrg(command: Command): Command {
  return onStoredData(command).requiredOption("--org <org_id>", "the organization");
}

function onMember(command: Command): Command {
  return onOrg(command).requiredOption("--email <address>", "the person's e-mail address");
}

function roleOption(): Option {
  return new Option("--role <role>", "what the person may do")
    .choices([...ROLES])
    .makeOptionMandatory();
}

interface ReadTeam {
  readonly orgId: OrgId;
  readonly members: readonly Member[];
}

async function readTeam(backend: Backend, flags: Flags): Promise<ReadTeam> {
  const { orgId } = await knownOrg(backend, flags["org"]);
  return { orgId, members: await backend.teamStore.members(orgId) };
}

async function readMember(
  backend: Backend,
  flags: Flags,
): Promise<{ readonly orgId: OrgId; readonly member: Member }> {
  const { orgId, members } = await readTeam(backend, flags);
  const email = normaliseEmail(readEmail(flags));
  const member = members.find((each) => normaliseEmail(each.email) === email);
  if (member !== undefined) return { orgId, member };
  throw new UsageFault(`--email: ${email} is not a member of ${orgId}; see \`member list\``);
}

async function changed(
  backend: Backend,
  flags: Flags,
  change: ReturnType<Backend["teamStore"]["setRole"]>,
): Promise<CommandAnswer> {
  const done = await change;
  if (done === "last_owner") {
    throw new UsageFault(
      "an organization needs an owner, and this is the last one; make another member owner first",
    );
  }
  if (done === "unknown") throw new UsageFault("the member has left meanwhile; see `member list`");
  return listAnswer(await readTeam(backend, flags));
}

function readEmail(flags: Flags): string {
  const email = String(flags["email"]).trim();
  if (!isEmail(email)) throw new UsageFault(`--email: ${email} is not an e-mail address`);
  return email;
}

function readRole(flags: Flags): Role {
  const role = parseRole(String(flags["role"]));
  assert(role !== undefined, "the flag takes roles only");
  return role;
}

function addProblem(problem: "no_account" | "member" | "full", email: string): string {
  switch (problem) {
    case "no_account":
      return `--email: no person with the verified e-mail address ${email} has signed in yet; they have to sign in once`;
    case "member":
      return `--email: ${email} is a member already; see \`member role\``;
    case "full":
      return `an organization has at most ${TEAM_MAX} members and open invitations; remove one first`;
    default:
      return unreachable(problem);
  }
}

function listAnswer({ orgId, members }: ReadTeam): CommandAnswer {
  return {
    json: {
      org_id: orgId,
      members: members.map((each) => ({
        account_id: each.accountId,
        email: each.email,
        name: each.name,
        role: each.role,
        joined_at: instant(each.joinedAtMs),
      })),
    },
    text: members.map(({ role, email }) => `${role.padEnd(9)}  ${email}`).join("\n"),
  };
}
