/** Which colour and symbol is whose. */

import { symbol } from "d3-shape";
import { symbolOf } from "../charts/common";
import type { Named } from "../facts";

export function Swatch({ of }: { of: Named }) {
  return (
    <svg viewBox="-8 -8 16 16" width="14" height="14" aria-hidden="true">
      <path d={(of.marker && symbol(symbolOf(of.marker), 80)()) || "M-7 0H7"} style={{ fill: of.colour, stroke: of.colour, strokeWidth: of.marker ? 1 : 2.5 }} />
    </svg>
  );
}

export function Legend({ of }: { of: readonly Named[] }) {
  return (
    <ul class="legend">
      {of.map((each) => (
        <li key={each.label}>
          <Swatch of={each} />
          {each.label}
        </li>
      ))}
    </ul>
  );
}
