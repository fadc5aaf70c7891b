/** Folders of runs, as a finished run leaves them. */
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import type {BenchCell, BenchPlan, BenchRecord} from '../../src/experiments/bench/schema.js'
import type {RunManifest} from '../../src/results/folder/manifest.js'
import type {CellRecord, Plan} from '../../src/results/record.js'
import {benchCells} from './cells.js'
import {BENCH_MANIFEST, BENCH_PLAN, timed} from './records/bench.js'

/** Writes manifest and journal. */
export async function writeRun(
  directory: string,
  plan: Plan,
  records: readonly CellRecord[],
  manifest: Partial<RunManifest> = {},
): Promise<string> {
  await mkdir(directory, {recursive: true})
  const text = JSON.stringify({...BENCH_MANIFEST, plan, ...manifest})
  await writeFile(join(directory, 'manifest.json'), text)
  const lines = records.map(record => `${JSON.stringify(record)}\n`)
  await writeFile(join(directory, 'records.jsonl'), lines.join(''))
  return directory
}

/** A benchmark of {@link BENCH_PLAN} at some lengths. */
export const benchPlanOf = (seq_lens: number[], changes: Partial<BenchPlan> = {}): BenchPlan => ({
  ...BENCH_PLAN,
  seq_lens,
  ...changes,
})

/** A record for each cell of a benchmark. @param timeOf - median in ns; `null`: the cell has no record */
export async function benchRecords(
  plan: BenchPlan,
  timeOf: (cell: BenchCell) => number | null,
): Promise<BenchRecord[]> {
  const records: BenchRecord[] = []
  for (const cell of await benchCells(plan)) {
    const time = timeOf(cell)
    if (time !== null) records.push(timed(cell, time))
  }
  return records
}
