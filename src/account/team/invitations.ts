import type { SentInvitation as Contract } from "../console-api/contract/members.ts";
import {
  type ChangedBy,
  type Clock,
  dayAndHour,
  type Mailer,
  mailText,
  nameInMail,
  createRecordId,
  type OrgId,
  type Role,
  ROLE_WORDS,
} from "../../kernel/index.ts";
import { createBrowserToken } from "../identity/browser-token.ts";
import type { TeamStore } from "./postgres-team-store.ts";
import type { Invitation } from "./team-store.ts";

const INVITATION_MS = 7 * 24 * 3_600_000;

/** Only this answer and the e-mail contain the link: the database stores the hash of its token. */
export interface SentInvitation {
  readonly invitation: Invitation;
  readonly link: string;
  readonly mail: Contract["mail"];
}

export interface InvitationsOptions {
  readonly store: TeamStore;
  readonly mailer: Mailer | undefined;
  /** The most invitations and confirmations of alerts that all organizations may mail per hour. */
  readonly mailsPerHourMax: number;
  readonly consoleUrl: () => string;
  readonly clock: Clock;
}

export interface Inviting {
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly accountId: string;
  readonly email: string;
}

export class Invitations {
  readonly #options: InvitationsOptions;

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  get canMail(): boolean {
    return this.#options.mailer !== undefined;
  }

  async invite(
    from: Inviting,
    wanted: { readonly email: string; readonly role: Role },
    by: ChangedBy,
  ): Promise<SentInvitation | Exclude<Awaited<ReturnType<TeamStore["invite"]>>, Invitation>> {
    const { store } = this.#options;
    const { token, ...link } = this.#newLink();
    const asked = { invitationId: createRecordId("inv"), invitedBy: from.accountId, ...wanted };
    const made = await store.invite(from.orgId, { ...asked, ...link }, by);
    return typeof made === "string" ? made : await this.#send(from, made, token);
  }

  async renew(
    from: Inviting,
    invitationId: string,
    by: ChangedBy,
  ): Promise<SentInvitation | "full" | undefined> {
    const { token, ...link } = this.#newLink();
    const asked = { invitationId, invitedBy: from.accountId, ...link };
    const made = await this.#options.store.renew(from.orgId, asked, by);
    return typeof made === "object" ? await this.#send(from, made, token) : made;
  }

  #newLink(): { token: string; tokenHash: Buffer; nowMs: number; expiresAtMs: number } {
    const nowMs = this.#options.clock.nowMs();
    const { token, hash: tokenHash } = createBrowserToken();
    return { token, tokenHash, nowMs, expiresAtMs: nowMs + INVITATION_MS };
  }

  async #send(from: Inviting, made: Invitation, token: string): Promise<SentInvitation> {
    const { store, mailer, mailsPerHourMax, consoleUrl, clock } = this.#options;
    // Browsers send the part after `#` to no server, so no request log contains the token.
    const link = `${consoleUrl()}/join#${token}`;
    if (mailer === undefined) return { invitation: made, link, mail: "off" };
    if (!(await store.claimMail(made.invitationId, mailsPerHourMax))) {
      return { invitation: made, link, mail: "bound" };
    }
    const invitation = { ...made, mailedAtMs: clock.nowMs() };
    const { kind } = await mailer.send(invitationMail(made, from, link));
    return { invitation, link, mail: kind === "sent" ? "sent" : "failed" };
  }
}

function invitationMail({ email, role, expiresAtMs }: Invitation, from: Inviting, url: string) {
  const orgName = nameInMail(from.orgName);
  return {
    to: email,
    messageId: `<${createRecordId("mail")}@tokenmarket.invitation>`,
    ...mailText({
      subject: `Invitation to ${orgName}`,
      sentences: [
        `${from.email} invites you to the organization “${orgName}” on Token Market as ` +
          `${ROLE_WORDS[role].name}.`,
        `Sign in as ${email} and accept.`,
      ],
      action: { label: "Accept the invitation", url },
      foot: [
        `The link works until ${dayAndHour(new Date(expiresAtMs).toISOString())}.`,
        "If you do not know the sender, ignore this message: nothing happens.",
      ],
    }),
  };
}
