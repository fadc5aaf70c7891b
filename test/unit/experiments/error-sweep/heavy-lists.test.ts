import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {headsOf, replicateMetricsOf} from '../../../../src/experiments/error-sweep/heavy-lists.js'
import experiment from '../../../../src/experiments/error-sweep/index.js'
import type {
  CompletedSweep,
  ErrorSweepRecord,
} from '../../../../src/experiments/error-sweep/schema.js'
import {comparisonOf} from '../../../../src/experiments/index.js'
import {journalLine} from '../../../../src/results/journal/journal-line.js'
import {JOURNAL_FILE, readRecords} from '../../../../src/results/journal/journal-reader.js'
import type {CellRecord} from '../../../../src/results/record.js'
import {newFolder} from '../../../helpers/folders.js'
import {replicated, scattered, sweep} from '../../../helpers/records/error-sweep.js'
import {failed} from '../../../helpers/records/outcomes.js'

/** What reports get of a large journal. */
async function held(records: readonly CellRecord[]) {
  const folder = await newFolder()
  await writeFile(join(folder, JOURNAL_FILE), records.map(journalLine).join(''))
  return (await readRecords(folder, [experiment], {wholeUpTo: 0})) as ErrorSweepRecord[]
}

/** Two methods, several M and scales, and a layer, with draws that can be paired. */
const SWEEPS = [8, 16, 64].flatMap(num_features =>
  ['favor-pos', 'rfa'].flatMap((method, start) =>
    [1, 2].map(scale => {
      const level = (scale * (method === 'rfa' ? 3 : 1)) / num_features
      const errors = scattered(10, start).map(factor => factor * level)
      return replicated(errors, {method, num_features, scale, layer: num_features === 64 ? 3 : 1})
    }),
  ),
)
const RECORDS = [...SWEEPS, failed(sweep({seed: 9}))]

describe('lists that records of a large run lack', () => {
  it('are read again', async () => {
    const records = (await held(SWEEPS)) as CompletedSweep[]
    for (const {result} of records) expect(Object.keys(result)).not.toContain('per_head')
    expect(records.map(headsOf)).toEqual(SWEEPS.map(({result}) => result.per_head))
    expect(records.map(replicateMetricsOf)).toEqual(
      SWEEPS.map(({result}) => result.replicate_metrics),
    )
  })

  it('are converted to the present format where an earlier version wrote them', async () => {
    const {result, ...record} = sweep()
    const per_head = result.per_head.map(({needed_num_features_log10: _, ...head}) => head)
    const earlier = {...record, schema: 'rfa.error-sweep/2', result: {...result, per_head}}
    const [read] = (await held([earlier])) as CompletedSweep[]
    expect(headsOf(read!)).toEqual(result.per_head)
  })

  it.each(['report', 'verdicts', 'highlights', 'figures'] as const)(
    'make no difference to what is said of it: %s',
    async part => {
      const said = await experiment[part]!(RECORDS)
      expect(await experiment[part]!(await held(RECORDS))).toEqual(said)
      expect(JSON.stringify(said)).toContain('favor-pos')
    },
  )

  it('make no difference to comparisons', async () => {
    const {between} = await comparisonOf(experiment)
    const {lines} = between('methods', [])
    const records = (await held(SWEEPS)) as CompletedSweep[]
    const compared = (all: readonly CompletedSweep[]) => lines(all[0]!, all[2]!)
    expect(compared(SWEEPS)).toMatchObject([{pairs: 10}])
    expect(compared(records)).toEqual(compared(SWEEPS))
  })
})
