import {describe, expect, it} from 'vitest'
import figure from '../../../../src/claims/figures/rfa-decode.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import type {TimedRecord} from '../../../../src/experiments/bench/schema.js'
import {decoded} from '../../../helpers/records/bench.js'

/** The same decode, with its marks after other numbers of tokens. */
function movedTo(tokens: readonly number[], record: TimedRecord): TimedRecord {
  const marks = record.result.marks!.map((mark, at) => ({...mark, tokens: tokens[at]!}))
  return {...record, result: {...record.result, marks}}
}

describe('figure rfa-decode', () => {
  const none = {projection: null, num_features: null}
  const records = [
    // at 25, 64 and 100 tokens
    decoded({method: 'softmax', ...none}, {token: 1000, more: 100}),
    decoded({method: 'rfa', num_features: 64}, {token: 500}),
    decoded({method: 'rfa', num_features: 128}, {token: 1000}),
  ].map(record => movedTo([8, 1024, 2048], record))
  const runs = new ClaimRuns(new Map([['rfa-decode', records]]))

  it('has times of exact attention over those of RFA, with intervals, from 16 tokens on', () => {
    const {points} = figure.draw(runs)
    const [first, last] = points.filter(({series}) => series === 'speed-up, M = 64')
    // after 64 tokens: 63 x 1000 and 100 for each token before
    expect(first!.x).toBe(1024)
    expect(first!.y).toMatchReference((63e3 + 100 * 32 * 63) / (63 * 500), 12)
    expect(first!.low).toBeLessThan(first!.y)
    expect(first!.high).toBeGreaterThan(first!.y)
    expect(last).toMatchObject({x: 2048, quoted: 12})
    const other = points.find(({series, x}) => series === 'speed-up, M = 128' && x === 2048)
    expect(other!.y).toMatchReference(last!.y / 2, 12)
  })

  it('has the bytes of RFA over those of exact attention', () => {
    const {points} = figure.draw(runs)
    const memory = points.filter(({series}) => series === 'memory, M = 64')
    expect(memory).toEqual([
      {series: 'memory, M = 64', x: 1024, y: 12288 / (240 * 64)},
      {series: 'memory, M = 64', x: 2048, y: 12288 / (240 * 100), quoted: 0.1},
    ])
  })

  it('is not drawn without exact attention', () => {
    const lacking = new ClaimRuns(new Map([['rfa-decode', records.slice(1)]]))
    expect(() => figure.draw(lacking)).toThrow('there are no times of softmax')
  })
})
