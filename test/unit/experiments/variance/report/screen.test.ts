import {describe, expect, it} from 'vitest'
import {varianceAnswers} from '../../../../../src/experiments/variance/report/answers.js'
import {varianceScreen} from '../../../../../src/experiments/variance/report/screen.js'
import {judgeMethods} from '../../../../../src/experiments/variance/report/verdicts.js'
import type {VarianceCell, VarianceRecord} from '../../../../../src/experiments/variance/schema.js'
import {SCREEN_LINES} from '../../../../../src/report/screen.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {failed, skipped} from '../../../../helpers/records/outcomes.js'
import {
  type CompletedVariance,
  type VarianceRow as Own,
  UNMEASURED,
  variance,
  withRows,
} from '../../../../helpers/records/variance.js'

const ANGLES = [0, 60, 90, 180]
const at = (changes: Partial<VarianceCell> = {}, ratio = 0.5) =>
  ANGLES.map(angle_deg => variance({angle_deg, ...changes}, ratio + angle_deg / 1000))

const HEAVY: Partial<Own> = {
  ...{...UNMEASURED, withheld: '500 replicates are too few for this tail'},
  ...{variance_relative_standard_error: null, needed_replicates: 2.9e7},
}

const PROJECTIONS = ['orth', 'hadamard', 'sobol', 'simplex', 'fast-food', 'structured']

/** A cell with a row for each of many random matrices. */
function many(record: CompletedVariance): CompletedVariance {
  const [iid, orth] = record.result.per_projection as [Own, Own]
  const rows = PROJECTIONS.map((projection, place) => {
    const ratio = 0.4 + 0.2 * place
    const ends = {ratio_low: 0.9 * ratio, ratio_high: 1.1 * ratio}
    return {...orth, projection, ratio_to_iid: ratio, ...ends}
  })
  return {...record, result: {...record.result, per_projection: [iid, ...rows]}}
}

const NAMES = Array.from({length: 30}, (_, place) => `method-${place + 1}`)

const RUNS: Readonly<Record<string, readonly VarianceRecord[]>> = {
  'two methods': [...at(), ...at({method: 'favor-trig'}, 0.2)],
  'heavy tails': [
    ...at().map((record, place) => (place < 2 ? withRows(record, () => HEAVY) : record)),
    ...at({method: 'favor-trig'}, 0.2),
  ],
  'one pair beside heavy tails': [
    ...at().map((record, place) => (place > 0 ? withRows(record, () => HEAVY) : record)),
    ...at({method: 'favor-trig'}, 0.2),
  ],
  'a tail that no number of draws reaches': [
    withRows(variance(), () => ({...HEAVY, needed_replicates: null})),
  ],
  'nothing but heavy tails': at().map(record => withRows(record, () => HEAVY)),
  'a biased method': [
    ...at(),
    ...at({method: 'rfa'}).map(record => withRows(record, (_, place) => ({bias_z: 7 - 3 * place}))),
  ],
  'a variance off theory': at().map(record =>
    withRows(record, ({variance: own}) => ({variance: 2 * own!})),
  ),
  'rows that vary more': [...at({}, 1.4), ...at({method: 'rfa'}, 1.4)],
  'rows that are inconclusive': [variance({}, 1)],
  'one matrix alone': at({projections: ['iid']}).map(record => ({
    ...record,
    result: {...record.result, per_projection: record.result.per_projection.slice(0, 1)},
  })),
  'six random matrices': at().map(many),
  'thirty methods, one of them biased': NAMES.flatMap((method, place) =>
    at({method}).map(record =>
      withRows(record, () => (place === 20 ? {bias_z: 9} : {bias_z: place / 20})),
    ),
  ),
  'sums and differences': [1, 2].flatMap(sum_norm =>
    [0.5, 1].map(difference_norm =>
      variance({sum_norm, difference_norm, norm: 0.7 * sum_norm, angle_deg: 30 * difference_norm}),
    ),
  ),
  'pairs of an input': [0, 1, 2].map(head =>
    variance({head, batch: 0, query_index: 5, key_index: 7 + head, norm: 1.234, key_norm: 2.345}),
  ),
  'failures and skips': [
    ...at(),
    ...at({method: 'rfa'}).map(record => failed(record)),
    skipped(variance({method: 'elu'}), 'has no random features'),
  ],
  'nothing but failures': at().map(record => failed(record)),
  'several sizes': [16, 32].flatMap(head_dim =>
    [32, 128].flatMap(num_features => at({head_dim, num_features})),
  ),
}

const shown = (records: readonly VarianceRecord[]) =>
  renderTerminal(varianceScreen(records), {width: 80, colour: false})

describe('varianceScreen', () => {
  it.each(Object.entries(RUNS))('fits 20 lines of 80 columns: %s', (_, records) => {
    const lines = shown(records).split('\n')
    expect(lines.length).toBeLessThanOrEqual(SCREEN_LINES)
    expect(lines.filter(line => line.length > 80)).toEqual([])
    expect(`\n${lines.join('\n')}\n`).toMatchSnapshot()
  })

  it('has nothing to show of no records', () => {
    expect(varianceScreen([])).toEqual([])
  })
})

describe('varianceAnswers', () => {
  const answers = (records: readonly VarianceRecord[]) =>
    varianceAnswers(judgeMethods(records)).join(' ')

  it('agrees with the verdicts', () => {
    for (const [name, records] of Object.entries(RUNS)) {
      const said = answers(records)
      const methods = judgeMethods(records)
      const biased = methods.filter(({unbiased}) => unbiased.verdict.answer === 'no')
      expect(/\b(is|are) biased/.test(said), name).toBe(biased.length > 0)
      const off = methods.filter(({theory}) => theory?.verdict.answer === 'no')
      expect(said.includes('differ from theory'), name).toBe(off.length > 0)
      const heavy = methods.reduce((sum, method) => sum + method.heavy.length, 0)
      expect(/ too few for (\d+)/.exec(said)?.[1], name).toBe(heavy > 0 ? String(heavy) : undefined)
    }
  })

  it('names the mean that is farthest off, and how far it may be', () => {
    const records = [variance(), withRows(variance({angle_deg: 90}), () => ({bias_z: -2.2}))]
    expect(answers(records)).toContain(
      'Largest deviation of a mean: 2.2 standard errors (favor-pos iid, norm 0.5 angle 90); up to 2.5 are allowed for 4 rows.',
    )
  })

  it('has nothing to say without records', () => {
    expect(answers([])).toBe('')
  })
})
