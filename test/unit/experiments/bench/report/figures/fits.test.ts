import {describe, expect, it} from 'vitest'
import {benchFits} from '../../../../../../src/experiments/bench/report/figures/fits.js'
import {findings} from '../../../../../../src/results/findings.js'
import {decoded, exactForm, timed} from '../../../../../helpers/records/bench.js'

const LENGTHS = [128, 256, 512]
const EXACT = LENGTHS.map((length, at) => exactForm('softmax', length, 1e6 * 4 ** at))

describe('benchFits', () => {
  it('tells slope and crossovers of each variant as the report does, by the keys of its records', () => {
    const own = LENGTHS.map((seq_len, at) => timed({seq_len}, 3e6 * 2 ** at))
    const fits = benchFits([...own.toReversed(), ...EXACT])
    expect(findings.parse({fits})).toEqual({fits})
    expect(fits.map(({variant}) => variant)).toEqual(['softmax', 'favor-pos orth M=64'])
    const [exact, linear] = fits
    expect(exact).toMatchObject({mode: 'forward', lengths: LENGTHS, no_slope: null, crossovers: []})
    expect(exact!.slope!.value).toMatchReference(2, 12)
    expect(linear!.keys).toEqual(own.map(({key}) => key))
    expect(linear!.slope_lengths).toEqual(LENGTHS)
    const [crossover] = linear!.crossovers
    expect(crossover).toMatchObject({baseline: 'softmax', answer: 'overtakes'})
    // 0.667 of exact attention at 256, 1.333 at 512
    expect(crossover!.length!.value).toMatchReference(384, 3)
    // processes 1 % apart: ratios of two cells are known within 2 %, and lines cross at a slope of 1
    expect(crossover!.statement).toBe('overtakes softmax at L=384 [376, 393]')
  })

  it('gives the reason where there is no slope, and no crossover where none is told', () => {
    const once = benchFits([timed(), EXACT[0]!])
    expect(once).toMatchObject([
      {slope: null, r2: null, no_slope: 'one_length', crossovers: []},
      {slope: null, no_slope: 'one_length', crossovers: []},
    ])
    const bent = LENGTHS.map((seq_len, at) => timed({seq_len}, [1e7, 1e7, 4e7][at]!))
    expect(benchFits(bent)).toMatchObject([{slope: null, r2: null, no_slope: 'bent'}])
    const few = LENGTHS.map(seq_len => timed({seq_len}, 1, {samples_ns: [seq_len]}))
    const [unsettled] = benchFits([...few, ...EXACT]).slice(-1)
    expect(unsettled).toMatchObject({slope: null, no_slope: 'unsettled'})
    expect(unsettled!.crossovers).toMatchObject([{answer: 'unsettled', length: null}])
  })

  it('keeps shapes apart, and has crossovers of decodes by tokens', () => {
    const exact = {method: 'softmax', projection: null, num_features: null}
    const decodes = [decoded(exact, {token: 1e4, more: 2000}), decoded({}, {token: 6e4})]
    const fits = benchFits([...decodes, ...EXACT, timed({batch: 3})])
    expect(fits.map(({mode}) => mode)).toEqual(['decode', 'decode', 'forward', 'forward'])
    expect(fits[1]).toMatchObject({lengths: [25, 64, 100], no_slope: 'decode'})
    expect(fits[1]!.crossovers[0]).toMatchObject({answer: 'overtakes', baseline: 'softmax'})
    expect(fits.map(({shape}) => shape.batch)).toEqual([1, 1, 1, 3])
    expect(fits[3]!.crossovers).toEqual([])
  })

  it('names the batch where there are several, and compares within each', () => {
    const times = [1e6, 4e6]
    const rows = [1, 16].flatMap((batch, at) => [
      timed({batch}, times[at]!),
      timed({batch, method: 'softmax', projection: null, num_features: null}, 2 * times[at]!),
    ])
    const fits = benchFits(rows.toReversed())
    expect(fits.map(({variant}) => variant)).toEqual([
      'softmax B=1',
      'favor-pos orth M=64 B=1',
      'softmax B=16',
      'favor-pos orth M=64 B=16',
    ])
    for (const fit of [fits[1]!, fits[3]!]) expect(fit.keys).toHaveLength(1)
  })
})
