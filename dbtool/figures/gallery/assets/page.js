"use strict";
(() => {
  const FIRST_ROWS = 100;
  const MORE_ROWS = 1000;
  const texts = new WeakMap();
  const status = document.querySelector(".status");
  let quiet = 0;

  // The points as the CSV file holds them; they lie in the page compressed.
  function csvOf(part) {
    if (!texts.has(part)) {
      const packed = part.querySelector("script").textContent;
      const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      texts.set(part, new Response(stream).text());
    }
    return texts.get(part);
  }

  // Rows of cells; a cell is null where nothing stands between two commas.
  function rowsOf(csv) {
    const cell = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/y;
    const rows = [];
    let row = [];
    while (cell.lastIndex < csv.length) {
      const [, quoted, plain, end] = cell.exec(csv);
      row.push(quoted === undefined ? plain || null : quoted.replaceAll('""', '"'));
      if (end !== ",") {
        rows.push(row);
        row = [];
      }
    }
    return rows;
  }

  function valueOf(cell, type) {
    if (cell === null) return null;
    if (type === "boolean") return cell === "true";
    if (type !== "number") return cell;
    return Number.isFinite(Number(cell)) ? Number(cell) : null;
  }

  function jsonOf(csv, types) {
    const [names, ...rows] = rowsOf(csv);
    const lines = rows.map((row) => JSON.stringify(
      Object.fromEntries(names.map((name, place) => [name, valueOf(row[place], types[place])])),
    ));
    return `[\n${lines.join(",\n")}\n]\n`;
  }

  function addRows(part, count) {
    const { body, rows, types } = part.shown;
    const fragment = document.createDocumentFragment();
    const start = body.rows.length;
    for (const row of rows.slice(start, start + count)) {
      const line = document.createElement("tr");
      row.forEach((cell, place) => {
        const box = line.insertCell();
        box.textContent = cell ?? "—";
        if (types[place] === "number") box.className = "number";
      });
      fragment.append(line);
    }
    body.append(fragment);
    const shown = body.rows.length;
    const more = part.querySelector(".more");
    more.hidden = shown === rows.length && start === 0;
    more.querySelector("button").hidden = shown === rows.length;
    more.querySelector(".shown").textContent =
      `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  }

  async function showTable(part) {
    if (part.shown) return;
    part.shown = {};
    const [names, ...rows] = rowsOf(await csvOf(part));
    const types = part.dataset.types.split(" ");
    const table = document.createElement("table");
    const line = table.createTHead().insertRow();
    names.forEach((name, place) => {
      const head = document.createElement("th");
      head.scope = "col";
      head.textContent = name;
      if (types[place] === "number") head.className = "number";
      line.append(head);
    });
    part.shown = { body: table.createTBody(), rows, types };
    addRows(part, FIRST_ROWS);
    part.querySelector(".rows").append(table);
  }

  function say(text) {
    status.textContent = text;
    clearTimeout(quiet);
    quiet = setTimeout(() => { status.textContent = ""; }, 4000);
  }

  // Some browsers let a page from a file copy only what is selected in it.
  function copySelected(text) {
    const area = document.createElement("textarea");
    const focused = document.activeElement;
    area.value = text;
    area.setAttribute("readonly", "");
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return done;
  }

  async function copy(text, name) {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      done = copySelected(text);
    }
    say(done ? `Copied ${name}` : `This browser does not let the page copy ${name}`);
  }

  function download(text, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`Downloaded ${name}`);
  }

  async function act(button) {
    const part = button.closest("details");
    const { copy: copied, download: wanted } = button.dataset;
    if (copied === "sql") {
      await copy(part.querySelector("code").textContent, "the SQL");
    } else if (copied === "csv") {
      await copy(await csvOf(part), "the points as CSV");
    } else if (wanted === "csv") {
      download(await csvOf(part), "text/csv", `${part.dataset.name}.csv`);
    } else if (wanted === "json") {
      const json = jsonOf(await csvOf(part), part.dataset.types.split(" "));
      download(json, "application/json", `${part.dataset.name}.json`);
    } else {
      addRows(part, MORE_ROWS);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) act(button);
  });
  for (const part of document.querySelectorAll("details.points")) {
    part.addEventListener("toggle", () => { if (part.open) showTable(part); });
  }
})();
