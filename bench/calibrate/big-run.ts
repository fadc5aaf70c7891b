/** Folders of runs with any number of records, made from the records of a small measured run. */
import {createWriteStream} from 'node:fs'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {pipeline} from 'node:stream/promises'
import {errorSweepGrid} from '../../src/experiments/error-sweep/grid.js'
import type {
  ErrorSweepCell,
  ErrorSweepPlan,
  ErrorSweepResult,
} from '../../src/experiments/error-sweep/schema.js'
import {allExperiments} from '../../src/experiments/index.js'
import {groupBy} from '../../src/report/groups.js'
import {openRun} from '../../src/results/folder/run-directory.js'
import {journalLine} from '../../src/results/journal/journal-line.js'
import {cellKey} from '../../src/results/keys.js'
import type {Completed} from '../../src/results/record.js'

/** The small run that others are made from. */
export const SMALL_RUN =
  'error-sweep --generator gaussian --heads 2 --head-dim 4 --seq-len 8 --methods favor-pos,favor-trig,rfa,favor-hyp,oprf --projections iid,orth --num-features 8..128x2 --replicates 6 --targets raw --quiet'

type WholeSweep = Completed<ErrorSweepCell, ErrorSweepResult>

/** Lists of a plan that make it larger. */
type Axes = Pick<ErrorSweepPlan, 'num_features' | 'seq_lens' | 'scales'>

/** `count` values from a number on. */
const values = (count: number, first: number, step: number) =>
  Array.from({length: count}, (_, at) => first + step * at)

/** Axes of about `cells` cells of five methods and two projections, in tables of a thousand rows. */
export function axesFor(cells: number): Axes {
  const sections = Math.max(1, Math.round(cells / 1000))
  const scales = Math.min(20, sections)
  return {
    num_features: values(100, 8, 8),
    seq_lens: values(Math.max(1, Math.round(sections / scales)), 8, 8),
    scales: values(scales, 0.125, 0.125),
  }
}

/**
 * Writes a run of a larger plan. Its errors come from the small run with the same method and projection, times a
 * factor that differs from cell to cell.
 *
 * @param small - folder of a run of {@link SMALL_RUN}
 * @returns how many records it has
 */
export async function writeBigRun(folder: string, small: string, axes: Axes): Promise<number> {
  const {manifest, records} = await openRun(small, await allExperiments())
  const plan = {...manifest.plan, ...axes} as unknown as ErrorSweepPlan
  const variantOf = ({method, projection}: ErrorSweepCell) => `${method} ${projection}`
  const measured = records as WholeSweep[]
  const models = new Map(
    groupBy(measured, ({cell}) => variantOf(cell)).map(own => [variantOf(own[0]!.cell), own]),
  )
  const cells = (await errorSweepGrid(plan)).cells()
  await mkdir(folder, {recursive: true})
  await writeFile(join(folder, 'manifest.json'), JSON.stringify({...manifest, plan}))
  const lines = function* () {
    let place = 0
    for (const cell of cells) {
      const own = models.get(variantOf(cell))!
      yield journalLine(recordOf(cell, own[place % own.length]!, place++))
    }
  }
  await pipeline(inPieces(lines()), createWriteStream(join(folder, 'records.jsonl')))
  return cells.length
}

/** Texts joined to pieces that are worth a write. */
function* inPieces(texts: Iterable<string>): Generator<string> {
  let piece = ''
  for (const text of texts) {
    piece += text
    if (piece.length < 2 ** 20) continue
    yield piece
    piece = ''
  }
  yield piece
}

/** A record of a cell after a model of another size. */
function recordOf(cell: ErrorSweepCell, model: WholeSweep, place: number): WholeSweep {
  const {result, schema} = model
  const own = Math.sqrt((model.cell.num_features ?? 1) / (cell.num_features ?? 1))
  const factor = own * cell.scale * (1 + ((place * 7919) % 1000) / 4000)
  const scaled = (summary: typeof result.mse, by: number) =>
    Object.fromEntries(
      Object.entries(summary).map(([name, value]) => [name, value === null ? null : value * by]),
    ) as unknown as typeof result.mse
  const norm = result.statistics.query_norm2 * cell.scale ** 2
  return {
    schema,
    key: cellKey(schema, cell),
    cell,
    status: 'completed',
    result: {
      ...result,
      query_len: cell.seq_len ?? result.query_len,
      key_len: cell.seq_len ?? result.key_len,
      feature_dim: (result.feature_dim / model.cell.num_features!) * cell.num_features!,
      mse: scaled(result.mse, factor ** 2),
      rel_l2: scaled(result.rel_l2, factor),
      predicted_rel_l2: result.predicted_rel_l2 && result.predicted_rel_l2 * own * cell.scale,
      statistics: {...result.statistics, query_norm2: norm},
    },
  }
}
