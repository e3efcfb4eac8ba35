import {
  type ChangedBy,
  type Clock,
  dayAndHour,
  type Mailer,
  type MailMessage,
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

/** An invitation with its link, which is in this answer and nowhere else. */
export interface SentInvitation {
  readonly invitation: Invitation;
  readonly link: string;
  /** `off`: no mail server is configured; `bound`: enough were sent today or this hour; `failed`: it did not take it. */
  readonly mail: "sent" | "off" | "bound" | "failed";
}

export interface InvitationsOptions {
  readonly store: TeamStore;
  readonly mailer: Mailer | undefined;
  /** E-mails of all organizations together. */
  readonly mailsPerHourMax: number;
  readonly consoleUrl: () => string;
  readonly clock: Clock;
}

/** The organization, and the person who invites. */
export interface Inviting {
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly accountId: string;
  readonly email: string;
}

/** Makes the links of invitations and sends them. */
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

  /** A new link for an invitation; the one before does not work any more. */
  async renew(
    from: Inviting,
    invitationId: string,
    by: ChangedBy,
  ): Promise<SentInvitation | undefined> {
    const { token, ...link } = this.#newLink();
    const asked = { invitationId, invitedBy: from.accountId, ...link };
    const made = await this.#options.store.renew(from.orgId, asked, by);
    return made === undefined ? undefined : await this.#send(from, made, token);
  }

  #newLink(): { token: string; tokenHash: Buffer; nowMs: number; expiresAtMs: number } {
    const nowMs = this.#options.clock.nowMs();
    const { token, hash: tokenHash } = createBrowserToken();
    return { token, tokenHash, nowMs, expiresAtMs: nowMs + INVITATION_MS };
  }

  async #send(from: Inviting, made: Invitation, token: string): Promise<SentInvitation> {
    const { store, mailer, mailsPerHourMax, consoleUrl, clock } = this.#options;
    // A part behind the `#` is sent to no server, and in no Referer.
    const link = `${consoleUrl()}/join#${token}`;
    if (mailer === undefined) return { invitation: made, link, mail: "off" };
    const nowMs = clock.nowMs();
    const when = { nowMs, perHourMax: mailsPerHourMax };
    if (!(await store.claimMail(made.invitationId, when))) {
      return { invitation: made, link, mail: "bound" };
    }
    const invitation = { ...made, mailedAtMs: nowMs };
    const { orgName, email: invitedBy } = from;
    const message = invitationMail({ ...made, orgName, invitedBy, link }, createRecordId("mail"));
    const { kind } = await mailer.send(message);
    return { invitation, link, mail: kind === "sent" ? "sent" : "failed" };
  }
}

/** The facts of an invitation. */
export interface InvitationFacts {
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  readonly orgName: string;
  /** The e-mail address of the owner who invites. */
  readonly invitedBy: string;
  readonly link: string;
  readonly expiresAtMs: number;
}

/** An invitation as an e-mail; every try of one link has one id. */
function invitationMail(of: InvitationFacts, tryId: string): MailMessage {
  const { email, role, invitedBy, link } = of;
  const orgName = nameInMail(of.orgName);
  return {
    to: email,
    messageId: `<${tryId}@tokenmarket.invitation>`,
    ...mailText({
      subject: `Invitation to ${orgName}`,
      sentences: [
        `${invitedBy} invites you to the organization “${orgName}” on Token Market as ` +
          `${ROLE_WORDS[role].name}.`,
        `Sign in as ${email} and accept.`,
      ],
      action: { label: "Accept the invitation", url: link },
      foot: [
        `The link works until ${dayAndHour(new Date(of.expiresAtMs).toISOString())}.`,
        "If you do not know the sender, ignore this message: nothing happens.",
      ],
    }),
  };
}
