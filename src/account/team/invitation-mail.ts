import { type Role, type MailMessage, nameInMail } from "../../kernel/index.ts";

/** What an invitation says. */
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
export function invitationMail(of: InvitationFacts, tryId: string): MailMessage {
  const { email, role, invitedBy, link } = of;
  const orgName = nameInMail(of.orgName);
  const until = new Date(of.expiresAtMs).toISOString().slice(0, 16).replace("T", " ");
  const sentence =
    `${invitedBy} invites you to the organization “${orgName}” on Token Market, with the role ` +
    `“${role}”.`;
  const how =
    `Sign in as ${email} and accept. The link works until ${until} UTC. If you do not know the ` +
    "sender, ignore this message: nothing happens.";
  const paragraphs = [
    `<p>${escaped(sentence)}</p>`,
    `<p><a href="${escaped(link)}">Accept the invitation</a></p>`,
    `<p><small>${escaped(how)}</small></p>`,
  ];
  return {
    to: email,
    subject: `Invitation to ${orgName}`,
    text: `${sentence}\n\nAccept the invitation: ${link}\n\n${how}\n`,
    html: `<!doctype html><html lang="en"><body>${paragraphs.join("")}</body></html>`,
    messageId: `<${tryId}@tokenmarket.invitation>`,
  };
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}
