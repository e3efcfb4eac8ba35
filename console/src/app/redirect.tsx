import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/** Navigates to another page once, without a step in the browser's history. */
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
