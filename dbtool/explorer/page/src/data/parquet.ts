/** Row groups of Parquet files, from the page itself or from a server by byte ranges. */

import { decompress } from "fzstd";
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetRead } from "hyparquet";

/** A column's values; a number that is null is NaN. */
export type Column = Float64Array | string[];
export type Table = Record<string, Column>;

const compressors = {
  ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)),
};
// Most footers are smaller; the rest takes a second request.
const FOOTER = 1 << 14;

export class ParquetFile {
  private metadata: Promise<FileMetaData> | null = null;

  constructor(private readonly buffer: AsyncBuffer) {}

  private footer(): Promise<FileMetaData> {
    if (this.metadata === null) {
      this.metadata = parquetMetadataAsync(this.buffer, { initialFetchSize: FOOTER });
      // What a server refused once may come the next time.
      this.metadata.catch(() => {
        this.metadata = null;
      });
    }
    return this.metadata;
  }

  /**
   * Columns of a row group; null: of all of them. Columns that the file lacks are left out.
   *
   * @param nan what stands for a NaN that was measured, since NaN itself stands for nothing.
   */
  async read(columns: string[], group: number | null, nan = Number.NaN): Promise<Table> {
    const metadata = await this.footer();
    const held = new Set(metadata.schema.map((each) => each.name));
    const counts = metadata.row_groups.map((each) => Number(each.num_rows));
    const rowStart = group === null ? 0 : counts.slice(0, group).reduce((a, b) => a + b, 0);
    const rows = group === null ? counts.reduce((a, b) => a + b, 0) : (counts[group] ?? 0);
    const wanted = columns.filter((name) => held.has(name));
    const table: Table = {};
    for (const name of wanted) {
      const text = metadata.schema.find((each) => each.name === name)?.type === "BYTE_ARRAY";
      table[name] = text ? new Array<string>(rows).fill("") : new Float64Array(rows).fill(Number.NaN);
    }
    if (rows === 0) return table;
    await parquetRead({
      file: this.buffer,
      metadata,
      compressors,
      columns: wanted,
      rowStart,
      rowEnd: rowStart + rows,
      onChunk: (chunk) => {
        const column = table[chunk.columnName];
        if (!column) return;
        const from = chunk.rowStart - rowStart;
        for (let index = 0; index < chunk.columnData.length; index++) {
          const value = chunk.columnData[index];
          const row = from + index;
          if (row < 0 || row >= rows || value === null || value === undefined) continue;
          column[row] = Number.isNaN(value) ? nan : typeof value === "bigint" ? Number(value) : value;
        }
      },
    });
    return table;
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
