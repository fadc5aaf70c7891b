import {describe, expect, it} from 'vitest'
import {beatsMean, candidateOf} from '../../../src/advice/candidates.js'
import type {CompletedSweep} from '../../../src/experiments/error-sweep/schema.js'
import {deterministic, metric, sweep} from '../../helpers/records/error-sweep.js'

/** Squared errors of a head that is measured as 0.2 in rel_l2 and 0.001 in mse. */
const SQUARES = [0.0005, 0.0008, 0.001, 0.001, 0.002, 0.00225]

function withReplicates(changes: Partial<CompletedSweep['result']> = {}): CompletedSweep {
  const heads = {head_mse: [SQUARES, SQUARES]} as unknown as object
  const replicate_metrics = heads as CompletedSweep['result']['replicate_metrics']
  return sweep({replicates: 6}, {replicate_metrics, ...changes})
}

describe('candidateOf', () => {
  it('has the error over all heads as recorded', () => {
    const {label, error} = candidateOf(withReplicates(), 'rel_l2')
    expect(label).toBe('favor-pos orth M=64')
    expect(error).toEqual({value: 0.25, low: 0.2, high: 0.3})
  })

  it('has intervals of heads by their replicates', () => {
    const [head] = candidateOf(withReplicates(), 'rel_l2').heads
    // six values: the interval is the range, 0.5 to 2.25 of the median in squares
    expect(head!.value).toBe(0.2)
    expect(head!.low).toMatchReference(0.2 * Math.sqrt(0.5), 12)
    expect(head!.high).toMatchReference(0.2 * Math.sqrt(2.25), 12)
    const [squared] = candidateOf(withReplicates(), 'mse').heads
    expect([squared!.value, squared!.low, squared!.high].map(x => x.toPrecision(6))).toEqual(
      [0.001, 0.0005, 0.00225].map(x => x.toPrecision(6)),
    )
  })

  it('has none without replicates, and needs none without draws', () => {
    expect(candidateOf(sweep(), 'rel_l2').heads[0]!.high).toBeNaN()
    const {error, heads} = candidateOf(deterministic('elu'), 'rel_l2')
    expect(error).toEqual({value: 0.25, low: 0.25, high: 0.25})
    expect(heads[0]!.high).toBe(heads[0]!.value)
  })

  it.each([
    ['sign_changes', 'sign_changes'],
    ['not_finite', 'not_finite'],
    ['one_draw', null],
    [null, null],
  ] as const)('of %s is unfit: %s', (means_unknown, unfit) => {
    expect(candidateOf(withReplicates({means_unknown}), 'rel_l2').unfit).toBe(unfit)
  })

  it.each([
    ['all draws lower', [0.8, 0.82, 0.84, 0.86, 0.88, 0.9], true],
    ['lower by less than 1 % of rel_l2', [0.981, 0.982, 0.983, 0.984, 0.985, 0.986], false],
    ['lower in the median only', [0.5, 0.6, 0.7, 0.8, 0.9, 1.2], false],
    ['higher', [1.1, 1.2, 1.3, 1.4, 1.5, 1.6], false],
  ])('is better than averaging V for certain: %s', (_, squares, better) => {
    const mse = squares.map(x => x * 0.0024)
    const kept = {mse, head_mse: [mse, mse]} as unknown as object
    const replicate_metrics = kept as CompletedSweep['result']['replicate_metrics']
    const candidate = candidateOf(withReplicates({replicate_metrics}), 'rel_l2')
    expect(beatsMean(candidate, candidate.overMean)).toBe(better)
    const {low, high} = candidate.overMean
    // six draws: the interval is their range
    expect(low).toMatchReference(Math.sqrt(squares[0]!), 12)
    expect(high).toMatchReference(Math.sqrt(squares[5]!), 12)
  })

  it('counts averaging V itself as better, and nothing where that is exact', () => {
    const mean = candidateOf(deterministic('mean-value'), 'rel_l2')
    expect(beatsMean(mean, mean.overMean)).toBe(true)
    const exact = candidateOf(deterministic('elu', {mse_over_mean_value: null}), 'rel_l2')
    expect(beatsMean(exact, exact.overMean)).toBe(false)
  })

  it('of a broken estimate has no error', () => {
    const broken = withReplicates({rel_l2: metric(null), means_unknown: 'not_finite'})
    expect(candidateOf(broken, 'rel_l2').error.value).toBeNaN()
  })
})
