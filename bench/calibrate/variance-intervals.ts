/**
 * How often the 95 % intervals of `rfa variance` cover the exact series: means, variances and ratios to iid of positive
 * features, over independent seeds of whole cells. Words are parts of cells, e.g. D=32; --quick takes a tenth of the seeds.
 */
import {useBackend} from '../../src/backends/index.js'
import {runVarianceCell} from '../../src/experiments/variance/measure/cell.js'
import type {VarianceCell, VarianceResult} from '../../src/experiments/variance/schema.js'
import {bonferroniZ, median, Z95} from '../../src/stats/index.js'
import {type Calibration, each} from './run.js'

const RUNS = 300
const PROJECTIONS = ['iid', 'orth', 'simplex'] as const

type Size = Pick<VarianceCell, 'head_dim' | 'num_features' | 'norm'> & {name: string}

const CELLS = [8, 32, 128].flatMap(head_dim =>
  [4, head_dim, 4 * head_dim].flatMap(num_features =>
    [0.25, 0.5, 1, 2, 3].map((norm): Size => {
      const name = `D=${head_dim} M=${num_features} norm=${norm}`
      return {name, head_dim, num_features, norm}
    }),
  ),
)

/** One projection of one cell. */
interface Counted {
  cell: string
  projection: string
  /** Runs. */
  runs: number
  /** Rows that were withheld. */
  withheld: number
  /** Shares of printed intervals that cover. */
  mean: number
  variance: number
  ratio: number | null
  /** Usual relative standard error of the variance. */
  error: number
}

export default (async (words, {quick}) => {
  await useBackend('auto')
  const runs = quick ? RUNS / 10 : RUNS
  const found = await each(CELLS, words, size => coverageOf(size, runs))
  return {rows: found.flat().map(shown), report: {runs, found: found.flat()}}
}) satisfies Calibration

type Row = VarianceResult['per_projection'][number]

async function coverageOf({name, ...size}: Size, runs: number): Promise<Counted[]> {
  const rows = PROJECTIONS.map((): Row[] => [])
  const variances: number[] = []
  for (let seed = 0; seed < runs; seed++) {
    const result = await resultOf(size, seed)
    variances.push(result.closed_form_variance!)
    result.per_projection.forEach((row, at) => {
      rows[at]!.push(row)
    })
  }
  return PROJECTIONS.map((projection, at) => {
    const printed = rows[at]!.filter(row => row.withheld === null)
    const share = (covers: (row: Row) => boolean) => printed.filter(covers).length / printed.length
    return {
      ...{cell: name, projection, runs, withheld: runs - printed.length},
      mean: share(row => Math.abs(row.bias_z!) <= Z95),
      variance: share(({exact_variance, variance_low, variance_high}) =>
        isWithin(exact_variance!, variance_low!, variance_high!),
      ),
      ratio:
        projection === 'iid'
          ? null
          : share(({exact_ratio, ratio_low, ratio_high}) =>
              isWithin(exact_ratio!, ratio_low!, ratio_high!),
            ),
      error: median(printed.map(row => row.variance_relative_standard_error!)),
    }
  })
}

function isWithin(value: number, low: number, high: number): boolean {
  return low <= value && value <= high
}

async function resultOf(size: Omit<Size, 'name'>, seed: number): Promise<VarianceResult> {
  const outcome = await runVarianceCell({
    ...{method: 'favor-pos', preset: 'exact', options: {}, projections: [...PROJECTIONS]},
    ...{orth_sign: 'haar', angle_deg: 0, replicates: 2000, seed, backend: 'native'},
    ...size,
  })
  if (outcome.status !== 'completed') throw new Error(`expected a result, got ${outcome.reason}`)
  return outcome.result
}

/** What coverage between 93 and 97 % is seen as, all shares of the table together at 5 %. */
function isOff(share: number, runs: number): boolean {
  const z = bonferroniZ(CELLS.length * (3 * PROJECTIONS.length - 1), 0.05)
  const reach = (bound: number) => z * Math.sqrt((bound * (1 - bound)) / runs)
  return share < 0.93 - reach(0.93) || share > 0.97 + reach(0.97)
}

function shown({cell, projection, runs, withheld, error, ...shares}: Counted) {
  const text = (share: number | null) =>
    share === null ? '' : `${(100 * share).toFixed(1)}${isOff(share, runs) ? ' *' : ''}`
  return {
    ...{cell, projection, runs, withheld, 'error %': 100 * error},
    'mean %': text(shares.mean),
    'variance %': text(shares.variance),
    'ratio %': text(shares.ratio),
  }
}
