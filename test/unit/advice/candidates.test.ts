import {describe, expect, it} from 'vitest'
import {candidateOf} from '../../../src/advice/candidates.js'
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
    expect(head!.low).toBeCloseTo(0.2 * Math.sqrt(0.5), 12)
    expect(head!.high).toBeCloseTo(0.2 * Math.sqrt(2.25), 12)
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

  it('of a broken estimate has no error', () => {
    const broken = withReplicates({rel_l2: metric(null), means_unknown: 'not_finite'})
    expect(candidateOf(broken, 'rel_l2').error.value).toBeNaN()
  })
})
