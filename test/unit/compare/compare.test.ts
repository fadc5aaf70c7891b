import {describe, expect, it} from 'vitest'
import {compare, settled, unjudged} from '../../../src/compare/compare.js'
import type {ComparisonRequest} from '../../../src/compare/match.js'
import {comparisonFacts} from '../../../src/compare/schema.js'
import {benchComparison} from '../../../src/experiments/bench/report/comparison.js'
import {PairedTimes, pDiffers} from '../../../src/experiments/bench/times/paired-times.js'
import type {Comparison} from '../../../src/experiments/comparison.js'
import {errorSweepComparison} from '../../../src/experiments/error-sweep/report/errors/comparison.js'
import type {CellRecord} from '../../../src/results/record.js'
import {holm} from '../../../src/stats/index.js'
import {BENCH_MANIFEST, exactForm, timed} from '../../helpers/records/bench.js'
import {replicated} from '../../helpers/records/error-sweep.js'
import {failed, skipped} from '../../helpers/records/outcomes.js'

const side = (directory: string, records: readonly CellRecord[]) => ({
  directory,
  method: null,
  manifest: BENCH_MANIFEST,
  records,
  cells: records.length,
})

function request(
  a: readonly CellRecord[],
  b: readonly CellRecord[],
  changes: Partial<ComparisonRequest> = {},
): ComparisonRequest {
  return {
    experiment: 'bench',
    comparison: benchComparison as unknown as Comparison,
    related: 'runs',
    a: side('before', a),
    b: side('after', b),
    limits: [],
    strict: false,
    ...changes,
  }
}

const time = (percent: number) => [{quantity: 'time', percent}] as const
const lengths = [128, 256, 512]
const before = lengths.map(seq_len => timed({seq_len}, 1e7))

describe('compare', () => {
  it('tells ratios, adjusted p-values and answers, line by line', () => {
    const factors = [1.02, 1.5, 0.5]
    const after = lengths.map((seq_len, at) => timed({seq_len}, 1e7 * factors[at]!))
    const facts = compare(request(before, after))
    expect(comparisonFacts.parse(facts)).toEqual(facts)
    const times = facts.rows.filter(({quantity}) => quantity === 'time')
    expect(times.map(({at}) => at.L)).toEqual(['128', '256', '512'])
    expect(times.map(({answer}) => answer)).toEqual(['cannot_be_told', 'more', 'less'])
    const paired = new PairedTimes([...before, ...after])
    const own = before.map((row, at) => pDiffers(paired.logRatioOfRuns(after[at]!, row)))
    expect(times.map(({p_value}) => p_value)).toEqual(holm(own))
    const [memory] = facts.rows.filter(({quantity}) => quantity === 'memory')
    expect(memory).toMatchObject({answer: 'same', p_value: null, effect: null, pairs: null})
    expect(facts).toMatchObject({passed: true, left: [], limits: []})
  })

  it('judges by limits, and is strict where asked', () => {
    const after = lengths.map((seq_len, at) => timed({seq_len}, 1e7 * [1.08, 1.5, 0.5][at]!))
    const judge = (changes: Partial<ComparisonRequest>) => compare(request(before, after, changes))
    const facts = judge({limits: time(10)})
    expect(facts.rows.map(({judgement}) => judgement)).toEqual([
      'cannot_be_told',
      null,
      'regression',
      null,
      'within',
      null,
    ])
    expect(facts.passed).toBe(false)
    expect(judge({limits: time(80)}).passed).toBe(true)
    // its upper end lies beyond 50 %
    expect(judge({limits: time(50)}).passed).toBe(true)
    expect(judge({limits: time(50), strict: true}).passed).toBe(false)
    expect(judge({limits: time(80), strict: true}).passed).toBe(true)
  })

  it('names what has no partner or no numbers, and takes lost cells for open', () => {
    const [first, second, third] = before
    const reason = 'no causal form'
    const a = [first!, second!, third!, skipped(exactForm('softmax', 64, 1e6), reason)]
    const b = [
      first!,
      failed(second!, {code: 'CELL_CRASHED', message: 'it crashed'}),
      timed({seq_len: 9}),
      skipped(exactForm('softmax', 64, 1e6), reason),
    ]
    const facts = compare(request(a, b, {limits: time(50)}))
    expect(facts.left.map(({where, reason, open}) => [where, reason, open])).toEqual([
      ['a', 'only in A', true],
      ['b', 'only in B', false],
      ['both', 'in A: measured; in B: failed, it crashed', true],
      ['both', `in both: skipped, ${reason}`, false],
    ])
    expect(facts.left[0]!.at).toMatchObject({L: '512', method: 'favor-pos'})
    expect(facts.passed).toBe(true)
    expect(unjudged(facts.rows, facts.left, facts.limits)).toHaveLength(2)
    expect(compare(request(a, b, {limits: time(50), strict: true})).passed).toBe(false)
  })

  it('says of cells that are ambiguous that several measure the same', () => {
    const seeds = [1, 2].map(seed => timed({seq_len: 256, seed}))
    const {left} = compare(request(before, [before[0]!, before[2]!, ...seeds]))
    expect(left.map(({where, reason, open}) => [where, reason, open])).toEqual([
      ['a', 'several cells measure the same', true],
      ['b', 'several cells measure the same', false],
      ['b', 'several cells measure the same', false],
    ])
  })

  it('says of a cell whose like is matched with another that it is only there', () => {
    const on = (backend: 'wasm' | 'native') => timed({backend}, 1e6, {backend})
    const {left} = compare(request([on('wasm'), on('native')], [on('native')]))
    expect(left.map(({where, reason}) => [where, reason])).toEqual([['a', 'only in A']])
  })

  it('fails a gate that judged nothing', () => {
    const broken = before.map(record => failed(record, {code: 'X', message: 'why'}))
    expect(compare(request(before, broken)).passed).toBe(true)
    expect(compare(request(before, broken, {limits: time(50)}))).toMatchObject({
      rows: [],
      passed: false,
    })
  })

  it('puts both names where A and B differ, and that of the other where one has none', () => {
    const a = [exactForm('softmax', 128, 1e6)]
    const facts = compare(request(a, [timed()], {related: 'methods'}))
    expect(facts.rows[0]!.at).toMatchObject({method: 'softmax / favor-pos', projection: 'orth'})
  })

  it('is the other way round when A and B change places', () => {
    const after = lengths.map(seq_len => timed({seq_len}, 1.3e7))
    const [there, back] = [compare(request(before, after)), compare(request(after, before))]
    there.rows.forEach((row, at) => {
      const other = back.rows[at]!
      expect(row.ratio! * other.ratio!).toMatchReference(1, 12)
      expect(row.ratio_low! * other.ratio_high!).toMatchReference(1, 12)
      expect(other.p_value ?? -1).toMatchReference(row.p_value ?? -1, 12)
    })
  })
})

describe('a comparison of errors', () => {
  const sweeps = (a: CellRecord, b: CellRecord, changes: Partial<ComparisonRequest> = {}) =>
    compare({
      ...request([a], [b], changes),
      experiment: 'error-sweep',
      comparison: errorSweepComparison as unknown as Comparison,
    })

  it('says nothing where the mean that is tested and the centre that is shown are on different sides', () => {
    const own = Array.from({length: 100}, () => 0.1)
    const other = own.map((error, at) => error * Math.exp(at < 79 ? -0.02 : 1))
    const [row] = sweeps(replicated(own), replicated(other)).rows
    expect(row!.ratio).toBeLessThan(1 / 1.01)
    expect(row).toMatchObject({answer: 'cannot_be_told', p_value: 1})
  })

  it('passes a limit where both errors are rounding', () => {
    const exact = replicated([1e-9, 1e-9, 1e-9])
    const limits = [{quantity: 'error', percent: 1}] as const
    const facts = sweeps(exact, exact, {limits, strict: true})
    expect(facts).toMatchObject({rows: [], passed: true})
    expect(settled(facts.left, limits)).toHaveLength(1)
  })
})
