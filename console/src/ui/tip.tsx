import {
  cloneElement,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type FocusEvent,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
  type RefObject,
} from "react";
import { createPortal } from "react-dom";

import kit from "./kit.module.css";

const DELAY_MS = 250;
const EDGE_PX = 8;

/**
 * Shows a tooltip while a mouse or pen is over its target or the tooltip, or the target has the
 * focus; Escape hides it. Mantine's tooltip would add 20 KB to the first page load.
 */
export function Tip(props: {
  readonly label: ReactNode;
  readonly children: ReactElement<{ "aria-describedby"?: string | undefined }>;
}) {
  const id = useId();
  const host = useRef<HTMLSpanElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [isShown, setShown] = useState(false);
  useEffect(() => () => clearTimeout(timer.current), []);

  function show(delayMs: number): void {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setShown(true), delayMs);
  }
  function hide(): void {
    clearTimeout(timer.current);
    setShown(false);
  }
  function onPointerEnter(event: PointerEvent): void {
    if (event.pointerType !== "touch") show(DELAY_MS);
  }
  /** A tap on a link or button also focuses it, but should only trigger its action: no tooltip. */
  function onFocus(event: FocusEvent): void {
    const isFigure = !event.target.matches("a, button");
    if (isFigure || event.target.matches(":focus-visible")) show(0);
  }

  return (
    <span
      ref={host}
      className={kit.tipHost}
      onPointerEnter={onPointerEnter}
      onPointerLeave={hide}
      onFocus={onFocus}
      onBlur={hide}
      onKeyDown={(event) => (event.key === "Escape" ? hide() : undefined)}
    >
      {cloneElement(props.children, { "aria-describedby": isShown ? id : undefined })}
      {isShown ? <TipBox id={id} host={host} label={props.label} onEscape={hide} /> : null}
    </span>
  );
}

function TipBox(props: {
  readonly id: string;
  readonly host: RefObject<HTMLElement | null>;
  readonly label: ReactNode;
  readonly onEscape: () => void;
}) {
  const { host, onEscape } = props;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (host.current !== null && box.current !== null) place(box.current, host.current);
  }, [host]);
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      if (event.key === "Escape") onEscape();
    }
    document.addEventListener("keydown", onKeyDown);
    document.addEventListener("scroll", onEscape, true);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      document.removeEventListener("scroll", onEscape, true);
    };
  }, [onEscape]);
  return createPortal(
    <div role="tooltip" id={props.id} ref={box} className={kit.tip}>
      {props.label}
    </div>,
    // For accessibility, content must be inside a landmark. A dialog is outside of `header` and
    // `main`, so its tips are put into the body.
    host.current?.closest("header, main") ?? document.body,
  );
}

function place(box: HTMLElement, host: HTMLElement): void {
  const at = (host.firstElementChild ?? host).getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const right = document.documentElement.clientWidth - EDGE_PX - width;
  const left = Math.max(EDGE_PX, Math.min(right, at.left + at.width / 2 - width / 2));
  const fitsAbove = at.top - height > EDGE_PX;
  box.style.left = `${left}px`;
  box.style.top = `${fitsAbove ? at.top - height : at.bottom}px`;
}
