/** Which workloads are drawn: searched by any part of their names, grouped by data set. */

import { useState } from "preact/hooks";
import { colourOf } from "../charts/common";
import { type Facts, keyOf, type Workload } from "../facts";
import { counted } from "../numbers";

interface Props {
  facts: Facts;
  picked: readonly string[];
  onPick: (keys: string[]) => void;
}

export function Picker({ facts, picked, onPick }: Props) {
  const [wanted, setWanted] = useState("");
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const found = facts.workloads.filter((each) => {
    const name = `${each.release} ${each.workload}`.toLowerCase();
    return words.every((word) => name.includes(word));
  });
  const groups = Map.groupBy(found, (each) => each.dataset ?? "other data sets");
  const toggle = (key: string) => onPick(picked.includes(key) ? picked.filter((each) => each !== key) : [...picked, key]);
  return (
    <section class="picker" aria-labelledby="picker-title">
      <h2 id="picker-title">Workloads</h2>
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
              <Choice key={keyOf(each)} facts={facts} workload={each} place={picked.indexOf(keyOf(each))} onToggle={toggle} />
            ))}
          </fieldset>
        ))}
        {found.length === 0 && <p class="empty">No workload has all of these words in its name.</p>}
      </div>
    </section>
  );
}

interface ChoiceProps {
  facts: Facts;
  workload: Workload;
  place: number;
  onToggle: (key: string) => void;
}

function Choice({ facts, workload, place, onToggle }: ChoiceProps) {
  const key = keyOf(workload);
  return (
    <label class="choice">
      <input type="checkbox" checked={place >= 0} onChange={() => onToggle(key)} />
      <span class="swatch" style={place >= 0 ? { background: colourOf(place) } : {}} aria-hidden="true" />
      <span class="name">
        {workload.workload.split(/(?<=[/_])/).flatMap((part) => [part, <wbr />])}
        <small>
          {facts.releases.length > 1 && `${workload.release} · `}
          {counted(workload.studies.length, "batch size")}
        </small>
      </span>
    </label>
  );
}
