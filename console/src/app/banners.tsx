import { useState, type ReactElement } from "react";

import type { Session } from "../../../src/account/console-api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { recallTexts, remember } from "../ui/browser-memory.ts";
import { NoticeLine } from "./notice-line.tsx";
import { inOrder, type Line } from "./notice-order.ts";

export function Banners({ session }: { readonly session: Session }): ReactElement {
  const { installation, notices } = session;
  const isSignedIn = session.state === "signed_in";
  const changes = useAnswer("GET /api/console/price-changes", {}, { enabled: isSignedIn });
  const [dismissed, setDismissed] = useState(readDismissed);
  const isTest = isSignedIn && installation.is_test_money;
  const lines: Line[] = notices.map((notice) => ({ kind: "notice", notice }));
  for (const notice of (isSignedIn ? changes.data?.data : undefined) ?? []) {
    if (!dismissed.includes(notice.notice_id)) lines.push({ kind: "price", notice });
  }
  const today = `development ${new Date().toISOString().slice(0, 10)}`;
  if ((installation.is_local_sign_in || isTest) && !dismissed.includes(today)) {
    lines.push({ kind: "development" });
  }
  return (
    <section aria-label="Notices">
      <NoticeLine
        lines={inOrder(lines)}
        isLocal={installation.is_local_sign_in}
        isTest={isTest}
        onDismiss={(line) =>
          setDismissed(dismiss(line.kind === "price" ? line.notice.notice_id : today))
        }
      />
    </section>
  );
}

const NAME = "tm-dismissed";
/** Maximum number of dismissed IDs that this browser stores. The oldest are dropped first. */
const IDS_MAX = 100;

function readDismissed(): readonly string[] {
  return recallTexts("localStorage", NAME);
}

function dismiss(id: string): readonly string[] {
  const ids = [...readDismissed().filter((each) => each !== id), id].slice(-IDS_MAX);
  remember("localStorage", NAME, ids);
  return ids;
}
