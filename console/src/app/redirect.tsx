import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/** Leads to another page, once, and leaves no step in the history. */
export function Redirect(props: {
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
}): null {
  const navigate = useNavigate();
  const target = useRef(props);
  useEffect(() => {
    const { to, search } = target.current;
    void navigate({
      to,
      replace: true,
      ...(search === undefined ? {} : { search }),
    });
  }, [navigate]);
  return null;
}
