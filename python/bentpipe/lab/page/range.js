// A range of times that is moved by buttons, within a whole one.

// The range after a button, or null for the whole.
export function moved(what, now, whole) {
  const span = now.max - now.min;
  const middle = (now.min + now.max) / 2;
  const [half, centre] = {
    in: [span / 4, middle],
    out: [span, middle],
    left: [span / 2, middle - span / 4],
    right: [span / 2, middle + span / 4],
    reset: [Infinity, middle],
  }[what];
  let min = Math.max(whole.min, centre - half);
  let max = Math.min(whole.max, centre + half);
  if (what === "left") max = Math.min(whole.max, min + span);
  if (what === "right") min = Math.max(whole.min, max - span);
  return min <= whole.min && max >= whole.max ? null : { min, max };
}
