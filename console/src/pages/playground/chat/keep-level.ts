/**
 * Keeps the columns in a box at the same message: the one that a person scrolls leads, the others
 * follow. Answers differ in length, so it is the share of an answer that is kept level, not the pixel.
 */
export function keepLevel(box: HTMLElement): () => void {
  let leader: Element | undefined;
  const lead = ({ target }: Event): void => {
    leader = target instanceof Element ? (target.closest(LOG) ?? undefined) : undefined;
  };
  const follow = ({ target }: Event): void => {
    if (!(target instanceof HTMLElement) || target !== leader) return;
    for (const other of box.querySelectorAll<HTMLElement>(LOG)) {
      if (other !== target) level(target, other);
    }
  };
  for (const name of LEADS) box.addEventListener(name, lead, { passive: true });
  // Scrolling does not bubble: it is seen on its way down.
  box.addEventListener("scroll", follow, { capture: true, passive: true });
  return () => {
    for (const name of LEADS) box.removeEventListener(name, lead);
    box.removeEventListener("scroll", follow, { capture: true });
  };
}

const LOG = '[role="log"]';
const LEADS = ["wheel", "touchstart", "pointerdown", "keydown", "focusin"] as const;
const END_PX = 2;

function level(from: HTMLElement, to: HTMLElement): void {
  if (from.scrollHeight - from.clientHeight - from.scrollTop < END_PX) {
    to.scrollTop = to.scrollHeight;
    return;
  }
  const turns = turnsOf(from);
  const at = turns.findIndex((turn) => turn.offsetTop + turn.offsetHeight > from.scrollTop);
  const turn = turns[at];
  const other = turnsOf(to)[at];
  if (turn === undefined || other === undefined) return;
  const share = (from.scrollTop - turn.offsetTop) / Math.max(1, turn.offsetHeight);
  to.scrollTop = other.offsetTop + share * other.offsetHeight;
}

function turnsOf(log: HTMLElement): readonly HTMLElement[] {
  return [...log.querySelectorAll<HTMLElement>(":scope > article")];
}
