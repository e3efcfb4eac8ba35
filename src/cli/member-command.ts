import { Option, type Command } from "commander";

import { assert, isEmail, parseRole, ROLES, unreachable } from "../kernel/index.ts";
import { TEAM_MAX } from "../account/index.ts";
import { UsageFault } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { addOperations } from "./operation-command.ts";
import { addStoredCommands, knownOrg, required, type StoredCommand } from "./stored-command.ts";

/** `member list | role | remove`, and `add`: the way in where every owner is gone. */
export function addMemberCommand(program: Command, context: CommandContext): void {
  const member = program
    .command("member")
    .description("the people of an organization and their roles in the console");
  addOperations(member, context);
  addStoredCommands(member, context, [ADD]);
}

const ADD: StoredCommand = {
  usage: "add",
  summary: "add a person who has signed in before with this verified e-mail address",
  options: [
    required("--org <id>", "the organization"),
    required("--email <address>", "the person's e-mail address"),
    new Option("--role <role>", "what the person may do").choices(ROLES).makeOptionMandatory(),
  ],
  read: (flags) => {
    const email = String(flags["email"]).trim();
    if (!isEmail(email)) throw new UsageFault(`--email: ${email} is not an e-mail address`);
    const role = parseRole(String(flags["role"]));
    assert(role !== undefined, "the flag takes roles only");
    return async (backend, by) => {
      const { orgId } = await knownOrg(backend, flags["org"]);
      const done = await backend.teamStore.add(orgId, { email, role }, by);
      if (done !== "done") throw new UsageFault(addProblem(done, email));
      return { json: { org_id: orgId, email, role } };
    };
  },
};

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
