/** Which workloads are drawn: searched by any part of their names, grouped by data set. */

import { useState } from "preact/hooks";
import { facts, keyOf, type Named, type Workload } from "../facts";
import { counted } from "../numbers";
import { Swatch } from "./Legend";

/** Where the charts come first; see page.css. */
const NARROW = "(max-width: 54rem)";

interface Props {
  picked: readonly string[];
  /** How those that are drawn look, by their keys. */
  looks: ReadonlyMap<string, Named>;
  onPick: (keys: string[]) => void;
}

export function Picker({ picked, looks, onPick }: Props) {
  const [wanted, setWanted] = useState("");
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const found = facts.workloads.filter((each) => {
    const name = `${each.release} ${each.workload}`.toLowerCase();
    return words.every((word) => name.includes(word));
  });
  const groups = Map.groupBy(found, (each) => each.dataset ?? "other data sets");
  const toggle = (key: string) => onPick(picked.includes(key) ? picked.filter((each) => each !== key) : [...picked, key]);
  return (
    <details class="picker" open={!matchMedia(NARROW).matches}>
      <summary>
        <h2>Workloads</h2> <span class="count">{picked.length} drawn</span>
      </summary>
      <input
        type="search"
        value={wanted}
        placeholder={`Search ${counted(facts.workloads.length, "workload")}`}
        aria-label="Search workloads"
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <div class="actions">
        <button type="button" disabled={found.length === 0} onClick={() => onPick([...new Set([...picked, ...found.slice(0, 8).map(keyOf)])])}>
          {found.length > 8 ? "Add first 8" : "Add all"}
        </button>
        <button type="button" disabled={picked.length === 0} onClick={() => onPick([])}>
          Clear
        </button>
      </div>
      <div class="groups" tabIndex={-1}>
        {[...groups].map(([dataset, workloads]) => (
          <fieldset key={dataset}>
            <legend>{dataset}</legend>
            {workloads.map((each) => (
              <Choice key={keyOf(each)} workload={each} isPicked={picked.includes(keyOf(each))} look={looks.get(keyOf(each))} onToggle={toggle} />
            ))}
          </fieldset>
        ))}
        {found.length === 0 && <p class="empty">No workload has all of these words in its name.</p>}
      </div>
    </details>
  );
}

interface ChoiceProps {
  workload: Workload;
  isPicked: boolean;
  look: Named | undefined;
  onToggle: (key: string) => void;
}

function Choice({ workload, isPicked, look, onToggle }: ChoiceProps) {
  const key = keyOf(workload);
  return (
    <label class="choice">
      <input type="checkbox" checked={isPicked} onChange={() => onToggle(key)} />
      <span class="name">
        {workload.workload.split(/(?<=[/_])/).flatMap((part) => [part, <wbr />])}
        <small>
          {facts.releases.length > 1 && `${workload.release} · `}
          {counted(workload.studies.length, "batch size")}
        </small>
      </span>
      {look && <Swatch of={look} />}
    </label>
  );
}
