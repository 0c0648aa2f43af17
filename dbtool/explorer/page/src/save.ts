/** What is seen as files: CSV, SVG and PNG; and text on the clipboard. */

const PNG_SCALE = 2;
const SVG = "http://www.w3.org/2000/svg";
/** The height of the title above a chart. */
const TITLE = 26;

export function save(name: string, content: string | Blob, type = "text/csv"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A chart as an SVG file of its own: colours as they are now, and the title and the legend above it. */
export function svgText(chart: SVGSVGElement, title: string): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const legend = chart.closest(".card")?.querySelector(".legend, .answers");
  const keys = legend?.getBoundingClientRect() ?? new DOMRect();
  const above = TITLE + keys.height;
  const [width, height] = [chart.width.baseVal.value, chart.height.baseVal.value + above];
  const style = getComputedStyle(document.documentElement);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("viewBox", `0 ${-above} ${width} ${height}`);
  copy.setAttribute("height", String(height));
  copy.style.fontFamily = getComputedStyle(document.body).fontFamily;
  copy.style.color = getComputedStyle(document.body).color;
  const head = svgElement("g", { transform: `translate(0 ${-above})`, "font-size": 13, "text-anchor": "start", fill: "currentColor" });
  const write = (x: number, y: number, text: string | null) => head.appendChild(svgElement("text", { x, y })).append(text ?? "");
  write(8, TITLE - 8, title);
  for (const entry of legend?.children ?? []) {
    const at = entry.getBoundingClientRect();
    const [x, y, mark] = [at.x - keys.x + 8, at.y - keys.y + TITLE, entry.querySelector("path") as SVGPathElement];
    const { fill, stroke } = getComputedStyle(mark);
    head.append(svgElement("path", { d: mark.getAttribute("d") ?? "", transform: `translate(${x} ${y + 10})`, fill, stroke }));
    write(x + 14, y + 15, entry.textContent);
  }
  copy.prepend(svgElement("rect", { y: -above, width, height, fill: "var(--raised)" }), head);
  for (const tip of copy.querySelectorAll('[aria-label="tip"]')) tip.remove();
  const text = new XMLSerializer().serializeToString(copy);
  return text
    .replace(/var\((--[\w-]+)\)/g, (_, name: string) => style.getPropertyValue(name).trim())
    .replace(/light-dark\((.+?), (.+?)\)/g, isDark() ? "$2" : "$1");
}

/** Whether the page is dark, by its button or the system. */
export function isDark(): boolean {
  const theme = document.documentElement.dataset["theme"];
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function svgElement(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [each, value] of Object.entries(attributes)) element.setAttribute(each, String(value));
  return element;
}

export async function pngBlob(chart: SVGSVGElement, title: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(chart, title))}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width * PNG_SCALE, image.height * PNG_SCALE);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob();
}

/** Puts text on the clipboard. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers let a page from a disk copy only what is selected in it.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("this browser does not let pages copy; select the text instead");
  }
}
