/** Curves of the person's own beside those of the page; files stay in the browser. */

import { type OwnCurve, ownCurves } from "../data/own";
import { say } from "./status";

interface Props {
  own: readonly OwnCurve[];
  add: (more: OwnCurve[]) => void;
  remove: (gone: OwnCurve) => void;
}

export function Own({ own, add, remove }: Props) {
  const read = async (files: FileList | null) => {
    for (const file of files ?? []) {
      try {
        add(ownCurves(file.name, await file.text()));
      } catch (error) {
        say((error as Error).message);
      }
    }
  };
  return (
    <section class="drop" aria-labelledby="own-title">
      <h2 id="own-title">Your own</h2>
      <p>
        Drop a CSV here or{" "}
        <label>
          choose a file
          <input type="file" accept=".csv,text/csv" multiple onChange={(event) => read(event.currentTarget.files)} />
        </label>
        : batch_size and steps, or batch_size, step and a metric such as val_classification_error. It does not leave this machine.
      </p>
      <ul>
        {own.map((each) => (
          <li key={each.label}>
            {each.label}
            <button type="button" aria-label={`Remove ${each.label}`} onClick={() => remove(each)}>
              Remove
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
