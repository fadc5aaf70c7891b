import {describe, expect, it} from 'vitest'
import {
  drawProjection,
  type ProjectionRequest,
} from '../../../../../../src/attention/projections/index.js'
import {orthonormalizeRows} from '../../../../../../src/attention/projections/orthogonal.js'
import {rankingsOf} from '../../../../../../src/experiments/error-sweep/report/errors/ranking.js'
import {
  errorSweepVerdicts,
  pairedBlocks,
  pairedDifferences,
} from '../../../../../../src/experiments/error-sweep/report/tables/paired.js'
import type {CompletedSweep} from '../../../../../../src/experiments/error-sweep/schema.js'
import {renderTerminal} from '../../../../../../src/report/terminal.js'
import {verdictSchema} from '../../../../../../src/results/verdict.js'
import {
  replicated,
  replicatedOnce,
  sweep,
  withoutMeans,
} from '../../../../../helpers/records/error-sweep.js'

/** Errors that scatter by a factor of 8, the same for all: pairs alone see what differs. */
const noise = (count: number) =>
  Array.from({length: count}, (_, i) => 0.01 * 8 ** (((i * 7) % count) / count))
const iid = replicated(noise(10), {projection: 'iid'})
const orth = replicated(
  noise(10).map((error, i) => error * (0.8 + 0.01 * (i % 3))),
  {projection: 'orth'},
)
const found = (rows: readonly CompletedSweep[]) => pairedDifferences(rows, rankingsOf(rows))
const shown = (rows: readonly CompletedSweep[], width = 100) =>
  renderTerminal(pairedBlocks(rows, rankingsOf(rows)), {width, colour: false})

describe('paired differences', () => {
  it('see past what replicates share', () => {
    const [one, ...others] = found([iid, orth])
    expect(others).toEqual([])
    expect([one!.a, one!.b]).toEqual([orth, iid])
    expect(one!.answer).toBe('less')
    expect(one!.pValue).toMatchReference(2 ** -10, 12) // all ten to one side
    // four of 0.8 and three each of 0.81 and 0.82: the middle of pairwise means of logarithms
    expect(one!.ratio.value).toMatchReference(0.81, 2)
    expect(found([orth, iid])[0]!.answer).toBe('more')
  })

  it('compare projections of a method, and methods with the first one under the same projection', () => {
    const other = (method: string, projection: 'iid' | 'orth') =>
      replicated(noise(10).toReversed(), {method, projection})
    const rows = [
      ...[iid, orth],
      ...[other('rfa', 'iid'), other('rfa', 'orth')],
      replicatedOnce('elu', 0.02),
      replicatedOnce('softmax', 1e-8),
    ]
    const names = found(rows).map(({a, b}) =>
      [a, b].map(({cell}) => `${cell.method} ${cell.projection}`).join(' - '),
    )
    expect(names).toEqual([
      'favor-pos orth - favor-pos iid',
      'rfa orth - rfa iid',
      'rfa iid - favor-pos iid',
      'rfa orth - favor-pos orth',
      'elu null - favor-pos iid',
    ])
  })

  it('compare errors of heavy tails by their logarithms, and leave out what has none', () => {
    const heavy = replicated(
      noise(10).map(error => 1e4 * error),
      {method: 'favor-trig', projection: 'iid'},
      withoutMeans('sign_changes'),
    )
    const [one] = found([iid, heavy])
    expect(one!.answer).toBe('more')
    expect(one!.ratio.value).toMatchReference(1e4, 6)
    const broken = replicated([...noise(9), null], {method: 'rfa', projection: 'iid'})
    const zero = replicated([...noise(9), 0], {method: 'elu', projection: 'iid'})
    expect(found([iid, broken, zero, sweep({method: 'dpfp'})])).toEqual([])
    expect(pairedBlocks([sweep(), sweep({projection: 'iid'})], rankingsOf([sweep()]))).toEqual([])
  })

  it('say how many replicates it takes, where no p-value can be small enough', () => {
    const few = (['iid', 'orth'] as const).map(projection => replicated(noise(5), {projection}))
    expect(shown(few)).toBe('- 5 draws are too few to compare pairs; use --replicates 6 or more')
  })

  it.each([80, 120])('are a table of %d columns', width => {
    const text = shown([iid, orth], width)
    expect(text).toMatch(
      /favor-pos orth +favor-pos iid .*0\.810 \[0\.800, 0\.815\] +0\.000977 +lower error/,
    )
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width)
  })

  it('are verdicts of --json', () => {
    const verdicts = errorSweepVerdicts([iid, orth])
    expect(verdicts.map(verdict => verdictSchema.parse(verdict))).toEqual(verdicts)
    expect(verdicts).toMatchObject([
      {question: 'errs_less', method: 'favor-pos', projection: 'orth', answer: 'yes', measured: 10},
    ])
    expect(verdicts[0]!.statement).toMatch(
      /^favor-pos orth M=64 has a lower error than favor-pos iid M=64, ratio 0\.810 \[/,
    )
  })

  it('rest on Gaussians that iid and orthogonal rows share in every block', () => {
    const draw = (name: ProjectionRequest['name'], numFeatures: number) =>
      drawProjection({name, heads: 1, headDim: 5, seed: 3, replicate: 2, numFeatures})
    const [rows, blocks] = [draw('iid', 13), draw('orth-sqrt-d', 13)]
    for (let first = 0; first < 13; first += 5) {
      const span = [first * 5, Math.min(first + 5, 13) * 5] as const
      const own = orthonormalizeRows(rows.slice(...span), 5)
      blocks.slice(...span).forEach((entry, at) => {
        expect(entry / Math.sqrt(5)).toMatchReference(own[at]!, 12)
      })
    }
    expect(draw('iid', 7)).toEqual(rows.slice(0, 35)) // a smaller M has the first rows
  })
})
