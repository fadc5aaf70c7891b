import {describe, expect, it} from 'vitest'
import {cellsOfMethod, matchMethods, matchRuns, methodsOf} from '../../../src/compare/match.js'
import {benchComparison} from '../../../src/experiments/bench/report/comparison.js'
import type {Comparison} from '../../../src/experiments/comparison.js'
import {exactForm, timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {failed} from '../../helpers/records/outcomes.js'

const bench = benchComparison as unknown as Comparison

describe('matchRuns', () => {
  it('matches what measures the same, in the order of A, and keeps the rest', () => {
    const [short, long, longer] = [64, 128, 256].map(seq_len => timed({seq_len}))
    const other = timed({seq_len: 128, seed: 5, threads: 2})
    const {pairs, onlyA, onlyB} = matchRuns([long!, short!], [longer!, other], bench)
    expect(pairs).toEqual([[long, other]])
    expect([onlyA, onlyB]).toEqual([[short], [longer]])
  })

  it('prefers cells that are equal in all, then those of one backend', () => {
    const on = (backend: 'wasm' | 'native', asked: 'auto' | 'wasm' | 'native' = backend) =>
      timed({backend: asked}, 1e6, {backend})
    const [wasm, native] = [on('wasm'), on('native')]
    expect(matchRuns([wasm, native], [native, wasm], bench).pairs).toEqual([
      [wasm, wasm],
      [native, native],
    ])
    const auto = on('native', 'auto')
    const found = matchRuns([wasm, native], [auto], bench)
    expect(found.pairs).toEqual([[native, auto]])
    expect(found.onlyA).toEqual([wasm])
  })

  it('matches no cells of two backends where a run compares backends', () => {
    const on = (backend: 'wasm' | 'native' | 'cpu', seed = 1) =>
      timed({backend, seed}, 1e6, {backend})
    const [a, b] = [
      [on('native'), on('wasm')],
      [on('native', 2), on('cpu', 2)],
    ]
    const {pairs, onlyA, onlyB} = matchRuns(a, b, bench)
    expect([pairs, onlyA, onlyB]).toEqual([[[a[0], b[0]]], [a[1]], [b[1]]])
    expect(matchRuns([on('wasm')], [on('cpu', 2)], bench).pairs).toHaveLength(1)
  })

  it('matches a cell that failed on a backend with that backend only', () => {
    const on = (backend: 'wasm' | 'native', seed = 1) => timed({backend, seed}, 1e6, {backend})
    const broken = failed(on('native'), {code: 'X', message: 'why'})
    const b = [on('wasm', 2), on('native', 2)]
    expect(matchRuns([broken, on('wasm')], b, bench).pairs.map(([, other]) => other)).toEqual([
      b[1],
      b[0],
    ])
  })

  it('matches what is alone on both sides, and nothing that is ambiguous', () => {
    const seeds = [1, 2].map(seed => timed({seed}))
    const lone = timed({seed: 3})
    expect(matchRuns([lone], seeds.slice(0, 1), bench).pairs).toEqual([[lone, seeds[0]]])
    const open = matchRuns([lone], seeds, bench)
    expect(open).toEqual({pairs: [], onlyA: [lone], onlyB: seeds})
  })

  it('matches cells that have no numbers, too', () => {
    const broken = failed(timed(), {code: 'X', message: 'why'})
    expect(matchRuns([timed()], [broken], bench).pairs).toEqual([[timed(), broken]])
  })
})

describe('matchMethods', () => {
  it('matches what is equal in all but the method', () => {
    const of = (method: string) => [64, 128].map(num_features => sweep({method, num_features}))
    const [a, b] = [of('favor-pos'), of('rfa')]
    const extra = sweep({method: 'rfa', num_features: 64, target: 'matched'})
    const {pairs, onlyA, onlyB} = matchMethods([a, [...b, extra]])
    expect(pairs).toEqual([
      [a[0], b[0]],
      [a[1], b[1]],
    ])
    expect([onlyA, onlyB]).toEqual([[], [extra]])
  })

  it('puts a method without draws beside each of the other', () => {
    const exact = exactForm('softmax', 128, 1e6)
    const drawn = [timed(), timed({projection: 'iid'}), timed({num_features: 256})]
    expect(matchMethods([[exact], drawn]).pairs.map(([, b]) => b)).toEqual(drawn)
    expect(matchMethods([drawn, [exact]]).pairs.map(([a]) => a)).toEqual(drawn)
    const elsewhere = exactForm('softmax', 256, 1e6)
    expect(matchMethods([[elsewhere], drawn]).pairs).toEqual([])
  })

  it('does not match another projection, sign or policy of drawing', () => {
    const own = timed({method: 'rfa'})
    const others = [
      timed({projection: 'iid'}),
      timed({orth_sign: 'raw'}),
      timed({redraw: 'call'}),
      timed({num_features: 32}),
      timed({seed: 1}),
    ]
    expect(matchMethods([[own], others]).pairs).toEqual([])
  })
})

describe('cellsOfMethod', () => {
  const plain = timed({method: 'rfa'})
  const tuned = timed({method: 'rfa', options: {tau: 0.5}})

  it('takes a label before a name', () => {
    expect(cellsOfMethod([plain, tuned], 'rfa')).toEqual([plain])
    expect(cellsOfMethod([plain, tuned], 'rfa (tau=0.5)')).toEqual([tuned])
    expect(cellsOfMethod([tuned], 'rfa')).toEqual([tuned])
    expect(cellsOfMethod([tuned], 'elu')).toEqual([])
    expect(methodsOf([plain, tuned, plain])).toEqual(['rfa', 'rfa (tau=0.5)'])
  })
})
