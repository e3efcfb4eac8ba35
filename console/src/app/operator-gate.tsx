import { Outlet } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { useSession } from "../api/use-session.ts";
import { NotFound } from "./not-found.tsx";

/** Pages for operators; for all others there are none. */
export function OperatorGate(): ReactElement {
  return useSession().is_operator ? <Outlet /> : <NotFound />;
}
