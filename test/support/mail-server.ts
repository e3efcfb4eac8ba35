import type { AddressInfo } from "node:net";

import { SMTPServer } from "smtp-server";

export async function startMailServer(password = "smtp-password-0123") {
  const received: { readonly to: readonly string[]; readonly source: string }[] = [];
  const server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    onAuth: (auth, _session, done) => {
      if (auth.password === password) done(null, { user: auth.username });
      else done(new Error("wrong password"));
    },
    onRcptTo: (_address, _session, done) => {
      const { refuseWith } = opened;
      if (refuseWith === undefined) return done();
      done(Object.assign(new Error("not now"), { responseCode: refuseWith }));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        received.push({ to, source: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  const opened = {
    port,
    settings: {
      smtpHost: "127.0.0.1",
      smtpPort: port,
      smtpSecurity: "none",
      smtpUser: "market",
      smtpPassword: password,
      smtpFrom: "Token Market <market@example.com>",
    },
    received,
    /** The SMTP code with which recipients are refused; undefined if they are accepted. */
    refuseWith: undefined as number | undefined,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
  return opened;
}
