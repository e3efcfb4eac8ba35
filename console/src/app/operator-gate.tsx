import { Outlet } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { useSession } from "../api/use-session.ts";
import { NotFound } from "./not-found.tsx";

/** Shows operator pages only to operators; for everyone else they do not exist. */
export function OperatorGate(): ReactElement {
  return useSession().is_operator ? <Outlet /> : <NotFound />;
}
