/** Row groups of Parquet files, from the page itself or from a server by byte ranges. */

import { decompress } from "fzstd";
import { type AsyncBuffer, parquetMetadataAsync, parquetRead } from "hyparquet";

/** Columns by their names: of numbers, in which NaN stands for null, and of texts. */
export type Table<Numbers extends string, Texts extends string = never> = Record<Numbers, Float64Array> & Record<Texts, string[]>;

/** What is read of a file. */
export interface Wanted<Numbers extends string, Texts extends string = never> {
  numbers: readonly Numbers[];
  texts?: readonly Texts[];
  /** null: all row groups. */
  group: number | null;
  /** What stands for a NaN that was measured, since NaN itself stands for nothing. */
  nan?: number;
}

const compressors = { ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)) };
// Most footers are smaller; the rest takes a second request.
const FOOTER = 1 << 14;

/** What was read, by its name; what a server refused once may come the next time. */
export class Kept {
  private readonly reads = new Map<string, Promise<unknown>>();

  once<T>(name: string, read: () => Promise<T>): Promise<T> {
    const known = this.reads.get(name) as Promise<T> | undefined;
    if (known) return known;
    const found = read();
    this.reads.set(name, found);
    found.catch(() => this.reads.delete(name));
    return found;
  }
}

export class ParquetFile {
  private readonly kept = new Kept();

  constructor(private readonly buffer: AsyncBuffer) {}

  /** Columns of a row group; one that the file lacks is empty in all rows. */
  async read<Numbers extends string, Texts extends string = never>(wanted: Wanted<Numbers, Texts>): Promise<Table<Numbers, Texts>> {
    const { numbers, texts = [], group, nan = Number.NaN } = wanted;
    const metadata = await this.kept.once("footer", () => parquetMetadataAsync(this.buffer, { initialFetchSize: FOOTER }));
    const counts = metadata.row_groups.map((each) => Number(each.num_rows));
    const sum = (of: readonly number[]) => of.reduce((a, b) => a + b, 0);
    const rowStart = group === null ? 0 : sum(counts.slice(0, group));
    const rows = group === null ? sum(counts) : (counts[group] ?? 0);
    const table: Record<string, Float64Array | string[]> = {};
    for (const name of numbers) table[name] = new Float64Array(rows).fill(Number.NaN);
    for (const name of texts) table[name] = new Array<string>(rows).fill("");
    const columns = metadata.schema.map((each) => each.name).filter((name) => name in table);
    if (rows > 0 && columns.length > 0) {
      await parquetRead({
        file: this.buffer,
        metadata,
        compressors,
        columns,
        rowStart,
        rowEnd: rowStart + rows,
        onChunk: (chunk) => {
          const column = table[chunk.columnName] as (number | string)[];
          const from = chunk.rowStart - rowStart;
          for (let index = 0; index < chunk.columnData.length; index++) {
            const value = chunk.columnData[index];
            const row = from + index;
            if (row < 0 || row >= rows || value === null || value === undefined) continue;
            column[row] = Number.isNaN(value) ? nan : typeof value === "bigint" ? Number(value) : value;
          }
        },
      });
    }
    return table as Table<Numbers, Texts>;
  }
}

/** A file that lies in the page, in base 64. */
export function embeddedFile(text: string): ParquetFile {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) bytes[index] = letters.charCodeAt(index);
  return new ParquetFile(bytes.buffer);
}

/** A file on the server that the page came from, of which only what is needed is fetched. */
export function remoteFile(path: string, byteLength: number): ParquetFile {
  // hyparquet asks for the parts of a file that it needs, and joins those that lie close together.
  return new ParquetFile({
    byteLength,
    async slice(start: number, end: number = byteLength) {
      const answer = await fetch(path, { headers: { Range: `bytes=${start}-${end - 1}` } });
      if (!answer.ok) throw new Error(`the server answers ${answer.status} for ${path}`);
      const content = await answer.arrayBuffer();
      return answer.status === 206 ? content : content.slice(start, end);
    },
  });
}
