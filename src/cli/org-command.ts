import type { Command } from "commander";

import { formatUsd } from "../core/money.ts";
import { capAnswer, onStoredCap, readCap } from "./cap-flags.ts";
import { answering, onStoredData, UsageFault, withBackend, type Flags } from "./command-context.ts";
import { noSuchOrg } from "./key-command.ts";

/** `org create NAME --email ADDRESS`, `org list`, `org cap ID --usd AMOUNT | --none` */
export function addOrgCommand(program: Command): void {
  const org = program.command("org").description("organizations");
  onStoredData(org.command("create <name>"))
    .description("make an organization with an empty wallet")
    .requiredOption("--email <address>", "where its people are reached")
    .action(
      answering((name: string, flags: Flags) =>
        withBackend(flags, async ({ accountStore }) => {
          const email = String(flags["email"]);
          if (!/^[^@\s]+@[^@\s]+$/.test(email)) {
            throw new UsageFault(`--email: ${email} is not an e-mail address`);
          }
          const made = await accountStore.createOrg({ name, email });
          return {
            json: { org_id: made.orgId, name: made.name, email: made.email },
            text: `${made.orgId}  ${made.name} <${made.email}>`,
          };
        }),
      ),
    );
  onStoredData(org.command("list"))
    .description("list organizations with balance and holds")
    .action(
      answering((flags: Flags) =>
        withBackend(flags, async ({ accountStore }) => {
          const orgs = await accountStore.listOrgs();
          return {
            json: {
              orgs: orgs.map((each) => ({
                org_id: each.orgId,
                name: each.name,
                email: each.email,
                balance_usd: formatUsd(each.balanceMicroUsd),
                held_usd: formatUsd(each.heldMicroUsd),
                created_at: new Date(each.createdAtMs).toISOString(),
              })),
            },
            text: orgs
              .map((each) => `${each.orgId}  $${formatUsd(each.balanceMicroUsd)}  ${each.name}`)
              .join("\n"),
          };
        }),
      ),
    );
  onStoredCap(org.command("cap <org_id>"))
    .description("set or remove the monthly spend cap of an organization, over all its keys")
    .action(
      answering((orgId: string, flags: Flags) => {
        const cap = readCap(flags);
        return withBackend(flags, async ({ accountStore }) => {
          if (!(await accountStore.setOrgCap(orgId, cap))) throw noSuchOrg(orgId);
          return capAnswer({ org_id: orgId }, cap);
        });
      }),
    );
}
