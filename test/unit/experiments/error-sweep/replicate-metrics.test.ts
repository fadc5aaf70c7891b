import {describe, expect, it} from 'vitest'
import errorSweep from '../../../../src/experiments/error-sweep/index.js'
import {
  keptMetrics,
  replicateRows,
} from '../../../../src/experiments/error-sweep/replicate-metrics.js'
import type {ErrorSweepResult} from '../../../../src/experiments/error-sweep/schema.js'
import {toCsv} from '../../../../src/results/tables/csv.js'
import {median} from '../../../../src/stats/index.js'
import {firstOutcome} from '../../../helpers/cells.js'
import {method, sweep} from '../../../helpers/plans.js'
import {sweep as record} from '../../../helpers/records/error-sweep.js'

const ZERO = {row_sum_deviation: 0, negative_denominators_pct: 0}
const OVER = [
  {mse: 1 / 3, rel_l2: 1, rel_l1: 1, max_abs: 3, cosine: 0.5, ...ZERO},
  {
    ...{mse: Number.POSITIVE_INFINITY, rel_l2: 2, rel_l1: 2, max_abs: Number.NaN, cosine: 0.25},
    ...{...ZERO, negative_denominators_pct: 12.5},
  },
]

describe('metrics of replicates', () => {
  it('are those that summaries are of, over all heads and of each', async () => {
    const outcome = await firstOutcome(
      sweep({methods: [method('favor-pos')], targets: ['raw'], replicates: 5, row_metrics: true}),
    )
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    const result = outcome.result as ErrorSweepResult
    const kept = result.replicate_metrics!
    const digits = 5e-7 // half a unit of the seventh of seven digits, of the smallest: 1.000000
    for (const name of ['mse', 'rel_l2', 'rel_l1', 'cosine', 'row_total_variation'] as const) {
      const middle = median(kept[name] as number[])
      expect(kept[name]).toHaveLength(5)
      expect(Math.abs(middle / result[name]!.median! - 1), name).toBeLessThanOrEqual(digits)
    }
    expect(kept.head_mse).toHaveLength(3)
    kept.head_mse!.forEach((errors, head) => {
      const ratio = median(errors as number[]) / result.per_head[head]!.mse!
      expect(Math.abs(ratio - 1)).toBeLessThanOrEqual(digits)
    })
  })

  it('keep seven digits, and null for what is not finite', () => {
    const kept = keptMetrics(OVER, null, [[1, Number.NaN]])
    expect(kept.mse).toEqual([0.3333333, null])
    expect(kept.max_abs).toEqual([3, null])
    expect(kept.head_mse).toEqual([[1, null]])
  })

  it('leave out heads where they are many', () => {
    expect(keptMetrics(OVER, null, new Array(2048).fill([1, 2])).head_mse).toHaveLength(2048)
    expect(keptMetrics(OVER, null, new Array(2049).fill([1, 2])).head_mse).toBeNull()
  })

  it('are null in records of earlier versions', () => {
    const {replicate_metrics: _, ...earlier} = record().result
    const parsed = errorSweep.record.parse({...record(), result: earlier})
    expect(parsed.status === 'completed' && parsed.result.replicate_metrics).toBeNull()
  })

  it('are a table of their own, a row for each replicate', () => {
    const metrics = keptMetrics(OVER, null, [[1, 2]])
    const records = [record({}, {replicate_metrics: metrics}), record({num_features: 128})]
    const [main, , replicates] = errorSweep.tables.map(table => toCsv(records, table))
    expect(main).not.toContain('replicate_metrics')
    const [header, ...rows] = replicates!.trim().split('\n')
    expect(header).toMatch(/^key,.*,replicate,mse,rel_l2,rel_l1,max_abs,cosine,row_sum_deviation,/)
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatch(/,0,0\.3333333,1,1,3,0\.5,0,0$/)
    expect(rows[1]).toMatch(/,1,,2,2,,0\.25,0,12\.5$/)
    expect(replicateRows(null)).toEqual([])
  })
})
