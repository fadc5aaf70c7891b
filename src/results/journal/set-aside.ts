/** Keeps a damaged journal under another name, and leaves one without its damaged lines in its place. */
import {type FileHandle, readdir} from 'node:fs/promises'
import {basename, dirname, join} from 'node:path'
import {writeAtomic} from '../../files.js'
import {eachPiece} from '../files.js'
import type {Line} from './lines.js'

/** What became of a damaged journal. */
export interface SetAside {
  /** Numbers of its damaged lines, from 1. */
  lines: readonly number[]
  /** Name of the file that holds it as it was. */
  keptAs: string
}

/**
 * Copies a journal to a file next to it, then keeps only whole lines. Nothing is lost, whenever it stops.
 *
 * @param journal - open for reading, with the length of its lines; a torn end behind them is left out
 * @param damaged - lines to leave out, in their order
 * @throws {NOT_WRITABLE} when a file cannot be written; the journal is then as it was
 */
export async function setAside(
  {path, file, intactBytes}: {path: string; file: FileHandle; intactBytes: number},
  damaged: readonly Line[],
): Promise<SetAside> {
  const keptAs = await copyBeside(path, file)
  await writeAtomic(path, async append => {
    let start = 0
    for (const line of damaged) {
      await eachPiece(file, [start, line.start], append)
      start = line.start + line.bytes + 1
    }
    await eachPiece(file, [start, intactBytes], append)
  })
  return {lines: damaged.map(({number}) => number), keptAs}
}

/** Under the first free name: `records.damaged-1.jsonl`, `records.damaged-2.jsonl` and so on. */
async function copyBeside(path: string, file: FileHandle): Promise<string> {
  const folder = dirname(path)
  const taken = new Set(await readdir(folder))
  let number = 1
  const name = () => `${basename(path, '.jsonl')}.damaged-${number}.jsonl`
  while (taken.has(name())) number++
  const {size} = await file.stat()
  await writeAtomic(join(folder, name()), append => eachPiece(file, [0, size], append))
  return name()
}
